#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "foreign/json.h"

namespace tiletune {

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

/// Reads a JSON document in UTF-8, gzipped or not, without ever holding more than one row or member of it.
/// NaN and Infinity, which Python writes, are numbers. Throws UserError, with line and column, for what is
/// not JSON, ends among other members than the rows, is nested too deep, or has too large a row or member.
DocumentEnd read_document(const std::filesystem::path& file, const DocumentEvents& events);

}  // namespace tiletune
