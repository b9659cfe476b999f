#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.h"
#include "base/file.h"

namespace tiletune {

namespace {

constexpr int kDeepestNesting = 200;
/// Each key is compared with all others of its object; more than this are taken for a mistake.
constexpr std::size_t kMostKeys = 10000;

/// "line 3, column 14" of a byte offset; columns count bytes.
std::string line_and_column(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n');
  const std::size_t column = line_start == std::string_view::npos ? offset + 1 : offset - line_start;
  return fmt::format("line {}, column {}", line, column);
}

/// Watches a parse for what the library lets pass: repeated keys (it keeps the last) and endless nesting.
class Watcher {
 public:
  explicit Watcher(std::string file_name) : file_name_(std::move(file_name)) {}

  bool operator()(int depth, nlohmann::ordered_json::parse_event_t event,
                  const nlohmann::ordered_json& parsed) {
    using Event = nlohmann::ordered_json::parse_event_t;
    if (depth > kDeepestNesting) {
      throw UserError(fmt::format("lists and objects are nested more than {} deep", kDeepestNesting),
                      Where{file_name_, ""}, "Flatten the file.");
    }
    if (event == Event::object_start) {
      keys_.emplace_back();
    } else if (event == Event::object_end) {
      keys_.pop_back();
    } else if (event == Event::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys_.back().insert(key).second) {
        throw UserError(fmt::format("the key '{}' appears twice in one object", key), Where{file_name_, ""},
                        "Remove one of the two.");
      }
      if (keys_.back().size() > kMostKeys) {
        throw UserError(fmt::format("an object has more than {} keys", kMostKeys), Where{file_name_, ""},
                        "Remove what does not belong there.");
      }
    }
    return true;
  }

 private:
  std::string file_name_;
  std::vector<std::set<std::string>> keys_;
};

/// The library's text after its own "[json.exception...] parse error at line 1, column 2: " prefix.
std::string short_message(const std::string& what) {
  const std::size_t column = what.find("column ");
  const std::size_t colon = column == std::string::npos ? column : what.find(": ", column);
  return colon == std::string::npos ? what : what.substr(colon + 2);
}

}  // namespace

nlohmann::ordered_json parse_json(std::string_view text, const std::string& file_name) {
  Watcher watcher(file_name);
  try {
    constexpr bool kThrows = true;
    constexpr bool kWithComments = true;
    return nlohmann::ordered_json::parse(text.begin(), text.end(), std::ref(watcher), kThrows, kWithComments);
  } catch (const nlohmann::json::parse_error& error) {
    const std::size_t offset = error.byte == 0 ? 0 : error.byte - 1;
    throw UserError("not valid JSON: " + short_message(error.what()),
                    Where{file_name, line_and_column(text, offset)},
                    "Correct the syntax there or just before it.");
  } catch (const nlohmann::json::out_of_range& error) {
    throw UserError(std::string("a number is out of range: ") + error.what(), Where{file_name, ""},
                    "Use numbers that fit 64 bits.");
  }
}

nlohmann::ordered_json read_json(const std::filesystem::path& path) {
  return parse_json(read_file(path, kLargestJson), path.string());
}

}  // namespace tiletune
