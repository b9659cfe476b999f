#include "foreign/document.h"

#include <fmt/format.h>

#include <fstream>

#include "base/error.h"
#include "foreign/byte_stream.h"
#include "foreign/json_reader.h"

namespace tiletune {

namespace {

constexpr int kDeepestNesting = 64;
/// In memory.
constexpr std::size_t kLargestElement = 4 * kLongestValue;

/// What a text holds, turned into members and rows.
class Splitter : public JsonEvents {
 public:
  Splitter(const std::filesystem::path& file, ByteStream& stream, const DocumentEvents& events)
      : file_(file.string()), stream_(stream), events_(events) {}

  void null() override {
    value([&] { tree_.null(); });
  }
  void boolean(bool content) override {
    value([&] { tree_.boolean(content); });
  }
  void integer(std::int64_t content) override {
    value([&] { tree_.integer(content); });
  }
  void number(double content) override {
    value([&] { tree_.number(content); });
  }
  void rounded_integer(double content) override {
    value([&] { tree_.rounded_integer(content); });
  }
  void text(std::string_view content) override {
    value([&] { tree_.text(content); });
  }

  void open(bool object) override {
    const Tree::Kind kind = object ? Tree::Kind::object : Tree::Kind::list;
    stream_.mark();
    seen_something_ = true;
    if (depth_ == kDeepestNesting) {
      throw UserError(fmt::format("lists and objects are nested more than {} deep", kDeepestNesting),
                      Where{file_, ""}, "Is this the file you meant?");
    }
    ++depth_;
    if (depth_ == 1 && object) return;
    if (depth_ == 2 && tree_.empty() && !in_rows_ && events_.holds_rows(key_)) {
      in_rows_ = rows_begun_ = true;
      events_.rows_begin(key_);
      key_.clear();
      return;
    }
    tree_.open(kind);
    check_size();
  }

  void close() override {
    stream_.mark();
    --depth_;
    if (tree_.empty()) {
      in_rows_ = false;
      return;
    }
    tree_.close();
    if (tree_.complete()) hand_on();
  }

  void key(std::string_view name) override {
    stream_.mark();
    if (depth_ == split_depth()) {
      key_ = name;
    } else {
      tree_.key(name);
      check_size();
    }
  }

  /// Where a text ends that stops to be JSON. Throws UserError for a mistake before its end.
  DocumentEnd end_of(const JsonError& error) const {
    if (error.at_end && rows_begun_ && tree_.empty() && key_.empty()) return DocumentEnd::open;
    const Where where{file_, error.place};
    if (!stream_.at_end() || !seen_something_) {
      throw UserError(
          "not valid JSON: " + error.why + in_row(), where,
          "Import Kernel Tuner caches, T4 results, KTT's JSON output or what 'tiletune export' wrote.");
    }
    if (!in_rows_) throw UserError("is cut off", where, "Copy it again.");
    return DocumentEnd::within_a_row;
  }

 private:
  /// The depth at which elements are split off: those of the document, or of the member that holds rows.
  int split_depth() const { return in_rows_ ? 2 : 1; }

  template <typename Add>
  void value(const Add& add) {
    stream_.mark();
    seen_something_ = true;
    add();
    check_size();
    if (tree_.complete()) hand_on();
  }

  void hand_on() {
    if (in_rows_) {
      events_.row(key_, tree_.root());
    } else {
      header_bytes_ += tree_.bytes();
      if (header_bytes_ > kLargestElement) refuse_size("the members other than the rows are too large");
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

DocumentEnd read_document(const std::filesystem::path& file, const DocumentEvents& events) {
  refuse_database(file);
  ByteStream stream(file);
  Splitter splitter(file, stream, events);
  try {
    read_json(stream, splitter);
  } catch (const JsonError& error) {
    return splitter.end_of(error);
  }
  return DocumentEnd::whole;
}

}  // namespace tiletune
