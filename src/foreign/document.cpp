#include "foreign/document.h"

#include <fmt/format.h>

#include <fstream>
#include <istream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "foreign/byte_stream.h"

namespace tiletune {

namespace {

constexpr int kDeepestNesting = 64;
constexpr int kOutOfRange = 406;  ///< nlohmann's number for what no double can hold
/// In memory.
constexpr std::size_t kLargestElement = 4 * kLongestValue;

/// "line 3, column 14" out of "[json.exception...] parse error at line 3, column 14: why", and why.
struct Complaint {
  std::string place;
  std::string why;

  explicit Complaint(const std::string& what) {
    const std::size_t line = what.find("line ");
    const std::size_t colon = line == std::string::npos ? line : what.find(": ", line);
    const std::size_t start = colon == std::string::npos ? what.find("] ") : colon;
    why = start == std::string::npos ? what : what.substr(start + 2);
    if (colon != std::string::npos) place = what.substr(line, colon - line);
  }
};

/// The events of nlohmann's parser, turned into members and rows.
class Splitter : public nlohmann::json_sax<nlohmann::json> {
 public:
  Splitter(const std::filesystem::path& file, ByteStream& stream, const DocumentEvents& events)
      : file_(file.string()), stream_(stream), events_(events) {}

  bool null() override {
    return value([&] { tree_.null(); });
  }
  bool boolean(bool content) override {
    return value([&] { tree_.boolean(content); });
  }
  bool number_integer(number_integer_t content) override {
    return value([&] { tree_.integer(content); });
  }
  bool number_unsigned(number_unsigned_t content) override {
    const bool fits = content <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    return value([&] {
      fits ? tree_.integer(static_cast<std::int64_t>(content)) : tree_.number(static_cast<double>(content));
    });
  }
  bool number_float(number_float_t content, const string_t& /*written*/) override {
    return value([&] { tree_.number(content); });
  }
  bool string(string_t& content) override {
    return value([&] { tree_.text(content); });
  }
  bool binary(binary_t& /*content*/) override { return false; }

  bool start_object(std::size_t /*elements*/) override { return open(Tree::Kind::object); }
  bool start_array(std::size_t /*elements*/) override { return open(Tree::Kind::list); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    stream_.mark();
    if (depth_ == split_depth()) {
      key_ = name;
    } else {
      tree_.key(name);
      check_size();
    }
    return true;
  }

  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& error) override {
    const Complaint complaint(error.what());
    const bool between_values = complaint.why.find("unexpected end of input") != std::string::npos;
    if (between_values && rows_begun_ && tree_.empty() && key_.empty()) {
      unfinished_ = true;
      return false;
    }
    const Where where{file_, complaint.place};
    if (complaint.why.ends_with("N'") || complaint.why.ends_with("I'")) {
      throw UserError("NaN and Infinity are no JSON" + in_row(), where,
                      "Python writes them where it has no number: replace them by null.");
    }
    if (error.id == kOutOfRange)
      throw UserError("a number is too large for a double" + in_row(), Where{file_, ""}, "Correct it.");
    if (!stream_.at_end() || !seen_something_) {
      throw UserError(
          "this is no JSON: " + complaint.why, where,
          "Import Kernel Tuner caches, T4 results, KTT's JSON output or what 'tiletune export' wrote.");
    }
    if (!in_rows_) throw UserError("is cut off", where, "Copy it again.");
    throw UserError("is cut off in the middle of a row" + in_row(), where,
                    "Copy it again, or remove what there is of the last row.");
  }

  bool unfinished() const { return unfinished_; }

 private:
  /// The depth at which elements are split off: those of the document, or of the member that holds rows.
  int split_depth() const { return in_rows_ ? 2 : 1; }

  template <typename Add>
  bool value(const Add& add) {
    stream_.mark();
    seen_something_ = true;
    add();
    check_size();
    if (tree_.complete()) hand_on();
    return true;
  }

  bool open(Tree::Kind kind) {
    stream_.mark();
    seen_something_ = true;
    if (depth_ == kDeepestNesting) {
      throw UserError(fmt::format("lists and objects are nested more than {} deep", kDeepestNesting),
                      Where{file_, ""}, "Is this the file you meant?");
    }
    if (depth_ == 0 && kind == Tree::Kind::object) {
      ++depth_;
      return true;
    }
    if (depth_ == 1 && tree_.empty() && !in_rows_ && events_.holds_rows(key_)) {
      ++depth_;
      in_rows_ = rows_begun_ = true;
      events_.rows_begin(key_);
      key_.clear();
      return true;
    }
    ++depth_;
    tree_.open(kind);
    check_size();
    return true;
  }

  bool close() {
    stream_.mark();
    --depth_;
    if (tree_.empty()) {
      in_rows_ = false;
      return true;
    }
    tree_.close();
    if (tree_.complete()) hand_on();
    return true;
  }

  void hand_on() {
    if (in_rows_) {
      events_.row(key_, tree_.root());
    } else {
      header_bytes_ += tree_.bytes();
      if (header_bytes_ > kLargestElement) refuse_size("the members beside the rows are too large");
      events_.member(key_, std::move(tree_));
    }
    tree_.clear();
    key_.clear();
  }

  std::string in_row() const { return key_.empty() ? "" : " ('" + key_ + "')"; }

  void check_size() const {
    if (tree_.bytes() > kLargestElement) refuse_size("a single row or member is too large to be one");
  }

  void refuse_size(const char* what) const {
    throw UserError(what, Where{file_, key_}, "Is this the file you meant?");
  }

  std::string file_;
  ByteStream& stream_;
  const DocumentEvents& events_;
  Tree tree_;        ///< of the element that is being read
  std::string key_;  ///< its own
  std::size_t header_bytes_ = 0;
  int depth_ = 0;
  bool in_rows_ = false;
  bool rows_begun_ = false;
  bool unfinished_ = false;
  bool seen_something_ = false;
};

void refuse_database(const std::filesystem::path& file) {
  if (!std::filesystem::is_regular_file(file)) return;
  constexpr std::string_view kMagic = "SQLite format 3";
  std::string start(kMagic.size(), '\0');
  std::ifstream(file, std::ios::binary).read(start.data(), static_cast<std::streamsize>(start.size()));
  if (start == kMagic)
    throw UserError("is a database", Where{file.string(), ""}, "Join databases with 'tiletune merge'.");
}

}  // namespace

bool read_document(const std::filesystem::path& file, const DocumentEvents& events) {
  refuse_database(file);
  ByteStream stream(file);
  std::istream input(&stream);
  Splitter splitter(file, stream, events);
  const bool whole = nlohmann::json::sax_parse(input, &splitter);
  return whole && !splitter.unfinished();
}

}  // namespace tiletune
