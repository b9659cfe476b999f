#pragma once

// RapidJSON's stacks add to a null pointer as long as they are empty, which is harmless and a finding all the
// same.
#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("pointer-overflow"))), apply_to = function)
#endif
#include <rapidjson/document.h>
#ifdef __clang__
#pragma clang attribute pop
#endif

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tiletune {

/// A value of a file. An integer is one of 64 bits (IsInt64); other numbers are doubles.
using JsonValue = rapidjson::Value;

/// The first member of that name; null where this is not an object, or has none.
const JsonValue* find(const JsonValue& object, std::string_view name);
/// The text of a string, or of the name of a member.
std::string_view text(const JsonValue& string);
/// The text of that member, or nothing.
std::string_view text_of(const JsonValue& object, std::string_view name);
/// The number of that member.
std::optional<double> number_of(const JsonValue& object, std::string_view name);

/// The elements of that member; none where it is not a list.
JsonValue::ConstArray elements_of(const JsonValue& object, std::string_view name);
/// The text, which must outlive it, as a string.
JsonValue as_value(std::string_view text);

/// The value as JSON text, in which a number is written as the rest of tiletune does: 1.0, not 1.
std::string to_json_text(const JsonValue& value);

/// What is handed on of a document while it is read. Each function may throw UserError; values last until it
/// returns.
struct DocumentEvents {
  /// Whether the rows lie in the top-level member of this name.
  std::function<bool(const std::string& name)> holds_rows;
  /// Another top-level member, whole. A document that is a list or a plain value is one without a name.
  std::function<void(const std::string& name, const JsonValue& value)> member;
  /// The member that holds the rows begins.
  std::function<void(const std::string& name)> rows_begin;
  /// A row: an element of it, with its key where it is an object.
  std::function<void(const std::string& key, const JsonValue& row)> row;
};

/// Where a document ends.
enum class DocumentEnd {
  whole,        ///< where it should
  open,         ///< with braces missing behind a whole row: whoever writes it has not finished
  within_a_row  ///< in the middle of one, which is not handed on
};

/// The member in which the rows of a table lie.
inline constexpr const char* kTableRows = "table";

/// What to do with a file that is none of these.
inline constexpr const char* kImportable =
    "Import recordings of Kernel Tuner, KTT, NVBench, Triton or CUTLASS's profiler, or T4 results.";

/// Reads a JSON document in UTF-8, gzipped or not, without ever holding more than one row or member of it; or
/// a table of CUTLASS's profiler (CSV without quotes), whose rows are objects of strings with a key "line 2".
/// NaN and Infinity, which Python writes, are numbers. Throws UserError, with line and column, for what is
/// not JSON, ends among other members than the rows, is nested too deep, or has too large a row or member.
DocumentEnd read_document(const std::filesystem::path& file, const DocumentEvents& events);

}  // namespace tiletune
