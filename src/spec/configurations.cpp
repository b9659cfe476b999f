#include "spec/configurations.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/text.h"
#include "spec/csv_lines.h"
#include "spec/paths.h"
#include "spec/values.h"

namespace tiletune {

namespace {

constexpr std::string_view kTemplateColumn = "template";

/// One template's share of the list.
class Rows {
 public:
  Rows(const TemplateSpec& spec, std::span<const std::string> header) : name_(spec.name) {
    for (const Parameter& parameter : spec.parameters) {
      const auto column = std::find(header.begin(), header.end(), parameter.name);
      if (column == header.end()) {
        missing_ = parameter.name;
        return;
      }
      columns_.push_back(static_cast<std::size_t>(column - header.begin()));
      values_.emplace_back(parameter);
    }
  }

  const std::string& name() const { return name_; }
  /// A parameter that the header does not name; empty when it names all.
  const std::string& missing() const { return missing_; }

  void add(std::span<const std::string> cells, const CsvLines& lines) {
    for (std::size_t i = 0; i < columns_.size(); ++i)
      positions_.push_back(values_[i].find(cells[columns_[i]], lines.place()));
    numbers_.push_back(lines.number());
  }

  bool has(std::size_t column) const {
    return std::find(columns_.begin(), columns_.end(), column) != columns_.end();
  }

  /// The positions of the values. Refuses none, and rows that are listed twice.
  std::vector<std::uint32_t> take(const CsvLines& lines) {
    if (numbers_.empty()) {
      throw UserError(fmt::format("no row is a configuration of {}", name_), lines.place(),
                      "Add rows, or leave the template out of the config.");
    }
    std::vector<std::size_t> order(numbers_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::lexicographical_compare(row(a).begin(), row(a).end(), row(b).begin(), row(b).end());
    });
    const auto twice = std::adjacent_find(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return std::equal(row(a).begin(), row(a).end(), row(b).begin());
    });
    if (twice != order.end()) {
      throw UserError(fmt::format("this configuration of {} is listed twice", name_),
                      lines.place(numbers_[*(twice + 1)]),
                      fmt::format("Remove it; the first is in line {}.", numbers_[*twice]));
    }
    return std::move(positions_);
  }

 private:
  std::span<const std::uint32_t> row(std::size_t index) const {
    return std::span(positions_).subspan(index * columns_.size(), columns_.size());
  }

  std::string name_;
  std::string missing_;
  std::vector<std::size_t> columns_;  ///< of each parameter
  std::vector<ValuePositions> values_;
  std::vector<std::uint32_t> positions_;
  std::vector<std::size_t> numbers_;  ///< of the lines
};

class ListReader {
 public:
  ListReader(std::string_view text, const std::string& file, const std::vector<TemplateSpec>& specs)
      : lines_(text, file) {
    if (!lines_.next(header_)) {
      throw UserError("the list of configurations is empty", Where{file, ""},
                      "Write a header with the names of the parameters, and one configuration per line.");
    }
    if (header_.size() == 1 && header_.front().find(';') != std::string::npos)
      throw UserError("semicolons separate the columns", lines_.place(), "Separate them with commas.");
    for (const TemplateSpec& spec : specs) {
      rows_.emplace_back(spec, header_);
      if (std::find(names_.begin(), names_.end(), spec.name) == names_.end()) names_.push_back(spec.name);
    }
    check_header(specs);
  }

  std::vector<std::vector<std::uint32_t>> read() {
    std::vector<std::string> cells;
    while (lines_.next(cells)) {
      if (cells.size() != header_.size()) {
        throw UserError(fmt::format("found {}, expected {}", counted(cells.size(), "cell"), header_.size()),
                        lines_.place(), "Give each row a cell for each column of the header.");
      }
      const std::string& name = name_of(cells);
      for (Rows& rows : rows_) {  // all variants of the template
        if (rows.name() != name) continue;
        check_other_cells(rows, cells);
        rows.add(cells, lines_);
      }
    }
    std::vector<std::vector<std::uint32_t>> lists;
    for (Rows& rows : rows_) lists.push_back(rows.take(lines_));
    return lists;
  }

 private:
  void check_header(const std::vector<TemplateSpec>& specs) {
    std::vector<std::string> known;
    for (const TemplateSpec& spec : specs)
      for (const Parameter& parameter : spec.parameters) known.push_back(parameter.name);
    for (std::size_t i = 0; i < header_.size(); ++i) {
      const bool is_parameter = std::find(known.begin(), known.end(), header_[i]) != known.end();
      if (std::find(header_.begin(), header_.begin() + static_cast<std::ptrdiff_t>(i), header_[i]) !=
          header_.begin() + static_cast<std::ptrdiff_t>(i)) {
        throw UserError(fmt::format("there are two columns '{}'", header_[i]), lines_.place(),
                        "Remove one of them.");
      }
      if (header_[i] == kTemplateColumn && (names_.size() > 1 || !is_parameter)) {
        template_column_ = i;
      } else if (!is_parameter) {
        throw UserError(fmt::format("no template has a parameter '{}'", header_[i]), lines_.place(),
                        fmt::format("Rename or remove the column.{}", suggestion(header_[i], known)));
      }
    }
    for (const Rows& rows : rows_) {
      if (rows.missing().empty()) continue;
      throw UserError(fmt::format("there is no column '{}', a parameter of {}", rows.missing(), rows.name()),
                      lines_.place(), "Add it, with a value in each row.");
    }
    if (names_.size() > 1 && !template_column_) {
      throw UserError(fmt::format("the config has {}, and there is no column '{}'",
                                  counted(names_.size(), "template"), kTemplateColumn),
                      lines_.place(), "Add it, with the name of a template in each row.");
    }
  }

  /// Of the template that a row is of.
  const std::string& name_of(std::span<const std::string> cells) const {
    if (!template_column_) return names_.front();
    const std::string& name = cells[*template_column_];
    if (std::find(names_.begin(), names_.end(), name) != names_.end()) return name;
    throw UserError(fmt::format("the config has no template '{}'", name), lines_.place(),
                    fmt::format("Name one that it lists.{}", suggestion(name, names_)));
  }

  void check_other_cells(const Rows& rows, std::span<const std::string> cells) const {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i == template_column_ || cells[i].empty() || rows.has(i)) continue;
      throw UserError(fmt::format("{} has no parameter '{}'", rows.name(), header_[i]), lines_.place(),
                      "Leave the cell empty.");
    }
  }

  CsvLines lines_;
  std::vector<std::string> header_;
  std::optional<std::size_t> template_column_;
  std::vector<std::string> names_;  ///< of the templates, each once
  std::vector<Rows> rows_;
};

}  // namespace

void read_configurations(const JsonNode& node, const std::filesystem::path& folder, bool allow_outside,
                         std::vector<TemplateSpec>& specs) {
  const auto path = resolve_file(node, folder, allow_outside);
  for (const TemplateSpec& spec : specs) {
    if (!spec.parameters.empty()) continue;
    throw UserError(fmt::format("{} has no parameters, so that nothing can be listed", spec.name), node.where,
                    "Remove the key.");
  }
  const std::string text = read_file(path, kLargestList);
  if (text.find('\0') != std::string::npos)
    throw UserError("the file is not text: it has a byte of zero", Where{path.string(), ""},
                    "Save it as CSV in UTF-8.");
  auto lists = ListReader(text, path.string(), specs).read();
  for (std::size_t i = 0; i < specs.size(); ++i) specs[i].listed = std::move(lists[i]);
}

}  // namespace tiletune
