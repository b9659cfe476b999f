#include "foreign/document.h"

#include <fmt/format.h>
#include <rapidjson/error/en.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/byte_stream.h"
#include "base/error.h"
#include "base/text.h"
#include "store/own_files.h"

namespace tiletune {

namespace {

constexpr int kDeepestNesting = 64;
/// A row or member, and all members together, take at most so much of text, and so much of memory.
constexpr std::size_t kLargestElement = std::size_t{64} << 20;

/// The pieces of a stream as RapidJSON reads bytes. It knows the line of where it is.
class PieceReader {
 public:
  using Ch = char;

  /// `check` is called between two pieces, with the number of bytes behind.
  PieceReader(const std::filesystem::path& file, std::function<void(std::size_t)> check)
      : stream_(file), check_(std::move(check)) {
    refill();
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (std::string_view(begin_, static_cast<std::size_t>(end_ - begin_)).starts_with(kByteOrderMark))
      at_ += kByteOrderMark.size();
    if (at_ == end_) refill();
  }

  Ch Peek() const { return at_ == end_ ? '\0' : *at_; }
  /// At the end, too: what validates UTF-8 takes the bytes that a character should have.
  Ch Take() {
    if (at_ == end_) return '\0';
    const Ch byte = *at_;
    if (++at_ == end_) refill();
    return byte;
  }
  std::size_t Tell() const { return behind_ + static_cast<std::size_t>(at_ - begin_); }

  // Only for reading in place.
  Ch* PutBegin() { return nullptr; }
  void Put(Ch /*byte*/) {}
  std::size_t PutEnd(Ch* /*begin*/) { return 0; }

  bool at_end() const { return at_ == end_; }
  /// "line 3, column 14", the column in bytes.
  std::string place() const {
    const auto lines = std::count(begin_, at_, '\n');
    const char* line = std::find(std::reverse_iterator(at_), std::reverse_iterator(begin_), '\n').base();
    const std::size_t before = lines == 0 ? behind_ - line_begin_ : 0;
    return fmt::format("line {}, column {}", lines_ + static_cast<std::size_t>(lines) + 1,
                       before + static_cast<std::size_t>(at_ - line) + 1);
  }

 private:
  void refill() {
    const auto last = std::find(std::reverse_iterator(end_), std::reverse_iterator(begin_), '\n');
    if (last.base() != begin_) line_begin_ = behind_ + static_cast<std::size_t>(last.base() - begin_);
    lines_ += static_cast<std::size_t>(std::count(begin_, end_, '\n'));
    behind_ += static_cast<std::size_t>(end_ - begin_);
    check_(behind_);
    const std::string_view piece = stream_.next();
    begin_ = at_ = piece.data();
    end_ = begin_ + piece.size();
  }

  ByteStream stream_;
  std::function<void(std::size_t)> check_;
  const char* begin_ = nullptr;  ///< of the piece
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  std::size_t behind_ = 0;      ///< bytes of the pieces before
  std::size_t lines_ = 0;       ///< in these
  std::size_t line_begin_ = 0;  ///< bytes before the last line that begins in these
};

/// The text stops to be JSON where the source is.
struct JsonError {
  rapidjson::ParseErrorCode code;
};

bool is_deeper(const JsonValue& value, int levels) {
  const auto is_too_deep = [&](const JsonValue& child) { return is_deeper(child, levels - 1); };
  if (value.IsArray()) return levels == 0 || std::any_of(value.Begin(), value.End(), is_too_deep);
  if (!value.IsObject()) return false;
  return levels == 0 || std::any_of(value.MemberBegin(), value.MemberEnd(),
                                    [&](const auto& member) { return is_too_deep(member.value); });
}

/// Reads a document's outermost braces, and those around its rows, itself; what lies in them is RapidJSON's.
class DocumentReader {
 public:
  DocumentReader(const std::filesystem::path& file, const DocumentEvents& events)
      : file_(file.string()),
        events_(events),
        source_(file, [this](std::size_t behind) { check_size(behind); }) {}

  DocumentEnd run() {
    rapidjson::SkipWhitespace(source_);
    const bool is_empty = source_.at_end();
    try {
      read_root();
      return DocumentEnd::whole;
    } catch (const JsonError& error) {
      if (!source_.at_end() || is_empty) refuse(error);
    }
    if (rows_begun_ && !in_element_) return DocumentEnd::open;
    if (!in_rows_) throw UserError("is cut off", Where{file_, source_.place()}, "Copy it again.");
    return DocumentEnd::within_a_row;
  }

 private:
  void read_root() {
    if (source_.Peek() == '{') {
      read_children(true, [this] { read_member(); });
    } else {
      parse();
      events_.member("", document_);
    }
    rapidjson::SkipWhitespace(source_);
    if (!source_.at_end()) throw JsonError{rapidjson::kParseErrorDocumentRootNotSingular};
  }

  /// Calls `read` for each member of an object, or element of a list, where its value begins; a member's name
  /// is key_.
  template <typename Read>
  void read_children(bool object, const Read& read) {
    source_.Take();
    for (bool first = true; !accept(object ? '}' : ']'); first = false) {
      if (!first && !accept(','))
        throw JsonError{object ? rapidjson::kParseErrorObjectMissCommaOrCurlyBracket
                               : rapidjson::kParseErrorArrayMissCommaOrSquareBracket};
      rapidjson::SkipWhitespace(source_);
      if (object && source_.Peek() != '"') throw JsonError{rapidjson::kParseErrorObjectMissName};
      in_element_ = !source_.at_end();
      if (object) {
        parse();
        key_ = text(document_);
        if (!accept(':')) throw JsonError{rapidjson::kParseErrorObjectMissColon};
        rapidjson::SkipWhitespace(source_);
      }
      read();
      key_.clear();
      in_element_ = false;
    }
  }

  void read_member() {
    const bool object = source_.Peek() == '{';
    if ((object || source_.Peek() == '[') && events_.holds_rows(key_)) {
      in_element_ = false;
      in_rows_ = rows_begun_ = true;
      events_.rows_begin(std::exchange(key_, ""));
      read_children(object, [this] {
        parse();
        events_.row(key_, document_);
      });
      in_rows_ = false;
      return;
    }
    parse();
    members_bytes_ += pool_.Size() + key_.size() + sizeof(JsonValue::Member);
    if (members_bytes_ > kLargestElement) refuse_size("the members other than the rows are too large");
    events_.member(key_, document_);
  }

  /// Reads the next value into document_.
  void parse() {
    constexpr unsigned kFlags = rapidjson::kParseIterativeFlag | rapidjson::kParseFullPrecisionFlag |
                                rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNanAndInfFlag |
                                rapidjson::kParseStopWhenDoneFlag;
    document_.SetNull();
    pool_.Clear();
    element_begin_ = source_.Tell();
    document_.ParseStream<kFlags>(source_);
    if (document_.HasParseError()) throw JsonError{document_.GetParseError()};
    if (!is_deeper(document_, kDeepestNesting)) return;
    throw UserError(fmt::format("lists and objects are nested more than {} deep", kDeepestNesting),
                    Where{file_, key_}, "Is this the file you meant?");
  }

  bool accept(char byte) {
    rapidjson::SkipWhitespace(source_);
    if (source_.Peek() != byte) return false;
    source_.Take();
    return true;
  }

  void check_size(std::size_t behind) const {
    if (behind > element_begin_ + kLargestElement ||
        pool_.Size() + document_.GetStackCapacity() > kLargestElement)
      refuse_size("a single row or member is too large");
  }

  void refuse_size(const char* what) const {
    throw UserError(what, Where{file_, key_}, "Is this the file you meant?");
  }

  void refuse(const JsonError& error) const {
    std::string why = rapidjson::GetParseError_En(error.code);
    if (why.ends_with('.')) why.pop_back();
    if (!key_.empty()) why += " ('" + key_ + "')";
    throw UserError("not valid JSON: " + why, Where{file_, source_.place()}, kImportable);
  }

  std::string file_;
  const DocumentEvents& events_;
  std::vector<char> buffer_ = std::vector<char>(std::size_t{1} << 16);  ///< enough for most rows
  rapidjson::MemoryPoolAllocator<> pool_{buffer_.data(), buffer_.size()};
  rapidjson::Document document_{&pool_};  ///< the element that is being read
  std::string key_;                       ///< its own
  std::size_t element_begin_ = 0;
  std::size_t members_bytes_ = 0;
  bool in_rows_ = false;
  bool rows_begun_ = false;
  bool in_element_ = false;
  PieceReader source_;  ///< the last, because it asks for sizes as soon as it is made
};

/// In the line that names the columns of CUTLASS's profiler.
constexpr std::string_view kTableHeader = "OperationKind,Operation,";

/// Reads a table of CUTLASS's profiler, which a line of names begins.
DocumentEnd read_table(const std::filesystem::path& file, const DocumentEvents& events) {
  ByteStream stream(file);
  std::string text;
  for (std::string_view piece = stream.next(); !piece.empty(); piece = stream.next()) {
    text += piece;
    if (text.size() > kLargestElement)
      throw UserError("too large for a table of CUTLASS's profiler", Where{file.string(), ""},
                      "Is this the file you meant?");
  }
  const std::vector<std::string> lines = split(text, '\n');
  std::vector<std::string> names;
  events.rows_begin(kTableRows);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    std::vector<std::string> cells = split(trim(lines[i]), ',');
    if (cells.size() < 2) continue;
    if (lines[i].find(kTableHeader) != std::string::npos) {  // tables may follow each other
      names = std::move(cells);
      continue;
    }
    const bool is_whole = cells.size() == names.size();
    if (!is_whole && i + 1 == lines.size()) return DocumentEnd::within_a_row;
    rapidjson::Document row(rapidjson::kObjectType);  // without its cells where a name is not known
    for (std::size_t j = 0; is_whole && j < names.size(); ++j)
      row.AddMember(as_value(names[j]), as_value(cells[j]), row.GetAllocator());
    events.row(fmt::format("line {}", i + 1), row);
  }
  return DocumentEnd::whole;
}

class TextWriter : public rapidjson::Writer<rapidjson::StringBuffer> {
 public:
  using Writer::Writer;
  bool Double(double number) {
    const std::string digits = nlohmann::json(number).dump();
    return RawValue(digits.data(), digits.size(), rapidjson::kNumberType);
  }
};

}  // namespace

const JsonValue* find(const JsonValue& object, std::string_view name) {
  if (!object.IsObject()) return nullptr;
  // Of members of one name the last counts, as in Python.
  for (auto member = object.MemberEnd(); member != object.MemberBegin();)
    if (--member; text(member->name) == name) return &member->value;
  return nullptr;
}

std::string_view text(const JsonValue& string) { return {string.GetString(), string.GetStringLength()}; }

std::string_view text_of(const JsonValue& object, std::string_view name) {
  const JsonValue* member = find(object, name);
  return member != nullptr && member->IsString() ? text(*member) : std::string_view();
}

std::optional<double> number_of(const JsonValue& object, std::string_view name) {
  const JsonValue* member = find(object, name);
  return member != nullptr && member->IsNumber() ? std::optional(member->GetDouble()) : std::nullopt;
}

JsonValue::ConstArray elements_of(const JsonValue& object, std::string_view name) {
  static const JsonValue none(rapidjson::kArrayType);
  const JsonValue* member = find(object, name);
  return member != nullptr && member->IsArray() ? member->GetArray() : none.GetArray();
}

JsonValue as_value(std::string_view text) {
  return JsonValue(rapidjson::StringRef(text.data(), static_cast<rapidjson::SizeType>(text.size())));
}

std::string to_json_text(const JsonValue& value) {
  rapidjson::StringBuffer buffer;
  TextWriter writer(buffer);
  value.Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

DocumentEnd read_document(const std::filesystem::path& file, const DocumentEvents& events) {
  std::error_code unknown;
  if (std::filesystem::is_regular_file(file, unknown)) {
    ByteStream stream(file);
    const std::string_view begin = stream.next();
    if (begin.starts_with(kSqliteMagic))
      throw UserError("is a database", Where{file.string(), ""}, "Join databases with 'tiletune merge'.");
    if (begin.substr(0, begin.find('\n')).find(kTableHeader) != begin.npos) return read_table(file, events);
  }
  return DocumentReader(file, events).run();
}

}  // namespace tiletune
