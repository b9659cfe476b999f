#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "foreign/tree.h"

namespace tiletune {

/// What is handed on of a document while it is read. Each function may throw UserError.
struct DocumentEvents {
  /// Whether the rows lie in the top-level member of this name.
  std::function<bool(std::string_view name)> holds_rows;
  /// Another top-level member, whole. A document that is a list or a plain value is one without a name.
  std::function<void(const std::string& name, Tree value)> member;
  /// The member that holds the rows begins.
  std::function<void(const std::string& name)> rows_begin;
  /// A row: an element of it, with its key where it is an object.
  std::function<void(std::string_view key, const Branch& row)> row;
};

/// Where a document ends.
enum class DocumentEnd {
  whole,        ///< where it should
  open,         ///< with braces missing behind a whole row: whoever writes it has not finished
  within_a_row  ///< in the middle of one, which is not handed on
};

/// Reads a JSON document, gzipped or not, without ever holding more than one row or member of it. Throws
/// UserError, with line and column, for what is not JSON, ends among other members than the rows or is nested
/// too deep.
DocumentEnd read_document(const std::filesystem::path& file, const DocumentEvents& events);

}  // namespace tiletune
