#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "spec/paths.h"
#include "spec/problem.h"
#include "spec/values.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

/// The largest list that is read.
constexpr std::size_t kLargestList = std::size_t{64} << 20;
/// More than the parameters of the largest template and the column "template".
constexpr std::size_t kMostCells = 512;
constexpr std::string_view kTemplateColumn = "template";
constexpr const char* kListForm =
    "Write a JSON list such as [\"4096x4096x64\"], or CSV with a header such as M,N,K.";

/// The records of a CSV text, line by line: cells are separated by commas, without the blanks around them but
/// for those between quotation marks.
class CsvLines {
 public:
  /// The text must outlive it. `file` is for messages.
  CsvLines(std::string_view text, std::string file) : rest_(text), file_(std::move(file)) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
  }

  /// False at the end. Throws UserError for a quotation mark that is not closed and for too many cells.
  bool next(std::vector<std::string>& cells) {
    if (rest_.empty()) return false;
    ++number_;
    const std::size_t end = rest_.find('\n');
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (line_.ends_with('\r')) line_.remove_suffix(1);
    cells.clear();
    do {
      if (cells.size() == kMostCells)
        throw UserError(fmt::format("more than {} cells", kMostCells), place(),
                        "Give each row as many as the header has.");
      cells.push_back(next_cell());
    } while (more_);
    return true;
  }

  /// The first record, whose cells are names. Throws UserError, also for semicolons between them.
  bool read_header() {
    if (!next(header_)) return false;
    if (header_.size() == 1 && header_.front().find(';') != std::string::npos)
      throw UserError("semicolons separate the columns", place(), "Separate them with commas.");
    return true;
  }

  const std::vector<std::string>& header() const { return header_; }

  /// Throws UserError for a record that has not as many cells as the header.
  void check_count(std::span<const std::string> cells) const {
    if (cells.size() == header_.size()) return;
    throw UserError(fmt::format("found {}, expected {}", counted(cells.size(), "cell"), header_.size()),
                    place(), "Give each row a cell for each column of the header.");
  }

  std::size_t number() const { return number_; }
  Where place(std::size_t number) const { return {file_, fmt::format("line {}", number)}; }
  /// Where the record that was read last stands.
  Where place() const { return place(number_); }

 private:
  std::string next_cell() {
    std::string cell;
    line_.remove_prefix(std::min(line_.find_first_not_of(" \t"), line_.size()));
    if (line_.starts_with('"')) {
      line_.remove_prefix(1);
      cell = quoted_text();
    }
    const std::size_t end = line_.find(',');
    cell += trim(line_.substr(0, end));
    more_ = end != std::string_view::npos;
    line_.remove_prefix(more_ ? end + 1 : line_.size());
    return cell;
  }

  std::string quoted_text() {
    std::string text;
    for (;;) {
      const std::size_t quote = line_.find('"');
      if (quote == std::string_view::npos)
        throw UserError("a quotation mark is not closed", place(), "Close it on the same line.");
      text += line_.substr(0, quote);
      line_.remove_prefix(quote + 1);
      if (!line_.starts_with('"')) return text;
      text += '"';
      line_.remove_prefix(1);
    }
  }

  std::vector<std::string> header_;
  std::string_view rest_;
  std::string_view line_;
  std::string file_;
  std::size_t number_ = 0;
  bool more_ = false;
};

std::string read_list_file(const std::filesystem::path& file, const char* remedy) {
  std::string text = read_file(file, kLargestList);
  if (text.find('\0') == std::string::npos) return text;
  throw UserError("the file is not text: it has a byte of zero", Where{file.string(), ""}, remedy);
}

/// One template's share of the list.
class ListedRows {
 public:
  /// Throws UserError where the header of the list lacks a parameter.
  ListedRows(const TemplateSpec& spec, const CsvLines& lines) : name_(spec.name) {
    const std::vector<std::string>& header = lines.header();
    for (const Parameter& parameter : spec.parameters) {
      const auto column = std::ranges::find(header, parameter.name);
      if (column == header.end())
        throw UserError(fmt::format("there is no column '{}', a parameter of {}", parameter.name, name_),
                        lines.place(), "Add it, with a value in each row.");
      columns_.push_back(static_cast<std::size_t>(column - header.begin()));
      values_.emplace_back(parameter);
    }
  }

  const std::string& name() const { return name_; }

  void add(std::span<const std::string> cells, const CsvLines& lines) {
    for (std::size_t i = 0; i < columns_.size(); ++i)
      positions_.push_back(values_[i].find(cells[columns_[i]], lines.place()));
    numbers_.push_back(lines.number());
  }

  bool has(std::size_t column) const { return is_among(column, columns_); }

  /// The positions of the values. Refuses none, and rows that are listed twice.
  std::vector<std::uint32_t> take(const CsvLines& lines) {
    if (numbers_.empty()) {
      throw UserError(fmt::format("no row is a configuration of {}", name_), lines.place(),
                      "Add rows, or leave the template out of the config.");
    }
    std::vector<std::size_t> order(numbers_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
      return std::ranges::lexicographical_compare(row(a), row(b));
    });
    const auto twice = std::ranges::adjacent_find(
        order, [&](std::size_t a, std::size_t b) { return std::ranges::equal(row(a), row(b)); });
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
  std::vector<std::size_t> columns_;  ///< of each parameter
  std::vector<ValuePositions> values_;
  std::vector<std::uint32_t> positions_;
  std::vector<std::size_t> numbers_;  ///< of the lines
};

class ListReader {
 public:
  ListReader(std::string_view text, const std::string& file, const std::vector<TemplateSpec>& specs)
      : lines_(text, file) {
    if (!lines_.read_header()) {
      throw UserError("the list of configurations is empty", Where{file, ""},
                      "Write a header with the names of the parameters, and one configuration per line.");
    }
    for (const TemplateSpec& spec : specs)
      if (!is_among(spec.name, names_)) names_.push_back(spec.name);
    check_header(specs);
    for (const TemplateSpec& spec : specs) rows_.emplace_back(spec, lines_);
    if (names_.size() > 1 && !template_column_) {
      throw UserError(fmt::format("the config has {}, and there is no column '{}'",
                                  counted(names_.size(), "template"), kTemplateColumn),
                      lines_.place(), "Add it, with the name of a template in each row.");
    }
  }

  std::vector<std::vector<std::uint32_t>> read() {
    std::vector<std::string> cells;
    while (lines_.next(cells)) {
      lines_.check_count(cells);
      const std::string& name = template_column_ ? cells[*template_column_] : names_.front();
      if (!is_among(name, names_))
        throw UserError(fmt::format("the config has no template '{}'", name), lines_.place(),
                        fmt::format("Name one that it lists.{}", suggestion(name, names_)));
      for (ListedRows& rows : rows_) {  // all variants of the template
        if (rows.name() != name) continue;
        for (std::size_t i = 0; i < cells.size(); ++i) {
          if (i == template_column_ || cells[i].empty() || rows.has(i)) continue;
          throw UserError(fmt::format("{} has no parameter '{}'", name, lines_.header()[i]), lines_.place(),
                          "Leave the cell empty.");
        }
        rows.add(cells, lines_);
      }
    }
    std::vector<std::vector<std::uint32_t>> lists;
    for (ListedRows& rows : rows_) lists.push_back(rows.take(lines_));
    return lists;
  }

 private:
  void check_header(const std::vector<TemplateSpec>& specs) {
    const std::vector<std::string>& header = lines_.header();
    std::vector<std::string> known;
    for (const TemplateSpec& spec : specs)
      for (const Parameter& parameter : spec.parameters) known.push_back(parameter.name);
    for (std::size_t i = 0; i < header.size(); ++i) {
      const auto here = header.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::find(header.begin(), here, header[i]) != here) {
        throw UserError(fmt::format("there are two columns '{}'", header[i]), lines_.place(),
                        "Remove one of them.");
      }
      if (header[i] == kTemplateColumn && (names_.size() > 1 || !is_among(header[i], known))) {
        template_column_ = i;
      } else {
        find_known(header[i], known, lines_.place(),
                   fmt::format("no template has a parameter '{}'", header[i]),
                   "Rename or remove the column.");
      }
    }
  }

  CsvLines lines_;
  std::optional<std::size_t> template_column_;
  std::vector<std::string> names_;  ///< of the templates, each once
  std::vector<ListedRows> rows_;
};

std::vector<ListedProblem> from_csv(const std::string& text, const std::string& file,
                                    const std::vector<std::string>& settings) {
  CsvLines lines(text, file);
  lines.read_header();
  const std::vector<std::string>& header = lines.header();
  if (std::set<std::string>(header.begin(), header.end()).size() != header.size())
    throw UserError("two columns have the same name", lines.place(), "Remove one of them.");
  std::vector<ListedProblem> problems;
  std::vector<std::string> cells;
  while (lines.next(cells)) {
    if (cells.size() == 1 && cells.front().empty()) continue;
    lines.check_count(cells);
    if (problems.size() == kMostEntries)
      throw UserError(fmt::format("more than {} problems", kMostEntries), lines.place(),
                      "Split the file, or list each problem once.");
    Json problem = Json::object();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (cells[i].empty()) continue;
      const bool is_setting = is_among(header[i], settings);
      const auto number = is_setting ? std::nullopt : parsed_number<std::int64_t>(cells[i]);
      problem[header[i]] = number ? Json(*number) : Json(cells[i]);
    }
    problems.push_back({std::move(problem), lines.place()});
  }
  if (problems.empty()) throw UserError("the file lists no problems", Where{file, ""}, kListForm);
  return problems;
}

}  // namespace

void read_configurations(const JsonNode& node, const std::filesystem::path& folder, bool allow_outside,
                         std::vector<TemplateSpec>& specs) {
  const auto path = resolve_file(node, folder, allow_outside);
  for (const TemplateSpec& spec : specs) {
    if (!spec.parameters.empty()) continue;
    throw UserError(fmt::format("{} has no parameters, so that nothing can be listed", spec.name), node.where,
                    "Remove the key.");
  }
  const std::string text = read_list_file(path, "Save it as CSV in UTF-8.");
  auto lists = ListReader(text, path.string(), specs).read();
  for (std::size_t i = 0; i < specs.size(); ++i) specs[i].listed = std::move(lists[i]);
}

std::vector<ListedProblem> read_problem_file(const std::filesystem::path& file,
                                             const std::vector<std::string>& settings) {
  const std::string text = read_list_file(file, kListForm);
  const std::string_view content = trim(text);
  if (content.empty()) throw UserError("the file lists no problems", Where{file.string(), ""}, kListForm);
  if (!content.starts_with('[') && !content.starts_with('{')) return from_csv(text, file.string(), settings);
  const Json json = parse_json(text, file.string());
  std::vector<ListedProblem> problems;
  for (const JsonNode& node :
       read_list({json, {file.string(), ""}}, "problems", Empty::refused, kMostEntries))
    problems.push_back({node.json.get(), node.where});
  return problems;
}

}  // namespace tiletune
