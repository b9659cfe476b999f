#include "spec/problem_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "spec/csv_lines.h"
#include "spec/reader.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kShape =
    "Write a JSON list such as [\"4096x4096x64\"], or CSV with a header such as M,N,K.";

Json cell_json(const std::string& cell, bool is_setting) {
  std::int64_t number = 0;
  const char* const end = cell.data() + cell.size();
  const auto [rest, error] = std::from_chars(cell.data(), end, number);
  return !is_setting && error == std::errc() && rest == end ? Json(number) : Json(cell);
}

std::vector<ListedProblem> from_json(const std::string& text, const std::string& file) {
  const Json json = parse_json(text, file);
  std::vector<ListedProblem> problems;
  for (const JsonNode& node : read_list({json, {file, ""}}, "problems", Empty::refused, kMostEntries))
    problems.push_back({node.json.get(), node.where});
  return problems;
}

std::vector<ListedProblem> from_csv(const std::string& text, const std::string& file,
                                    const std::vector<std::string>& settings) {
  CsvLines lines(text, file);
  std::vector<std::string> header;
  lines.next(header);
  if (header.size() == 1 && header.front().find(';') != std::string::npos)
    throw UserError("semicolons separate the columns", lines.place(), "Separate them with commas.");
  if (std::set<std::string>(header.begin(), header.end()).size() != header.size())
    throw UserError("two columns have the same name", lines.place(), "Remove one of them.");
  std::vector<ListedProblem> problems;
  std::vector<std::string> cells;
  while (lines.next(cells)) {
    if (cells.size() == 1 && cells.front().empty()) continue;
    if (cells.size() != header.size())
      throw UserError(fmt::format("found {}, expected {}", counted(cells.size(), "cell"), header.size()),
                      lines.place(), "Give each row a cell for each column of the header.");
    if (problems.size() == kMostEntries)
      throw UserError(fmt::format("more than {} problems", kMostEntries), lines.place(),
                      "Split the file, or list each problem once.");
    Json problem = Json::object();
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const bool is_setting = std::find(settings.begin(), settings.end(), header[i]) != settings.end();
      if (!cells[i].empty()) problem[header[i]] = cell_json(cells[i], is_setting);
    }
    problems.push_back({std::move(problem), lines.place()});
  }
  if (problems.empty()) throw UserError("the file lists no problems", Where{file, ""}, kShape);
  return problems;
}

}  // namespace

std::vector<ListedProblem> read_problem_file(const std::filesystem::path& file,
                                             const std::vector<std::string>& settings) {
  const std::string text = read_file(file, kLargestList);
  if (text.find('\0') != std::string::npos)
    throw UserError("the file is not text: it has a byte of zero", Where{file.string(), ""}, kShape);
  const std::string_view content = trim(text);
  if (content.empty()) throw UserError("the file lists no problems", Where{file.string(), ""}, kShape);
  if (content.starts_with('[') || content.starts_with('{')) return from_json(text, file.string());
  return from_csv(text, file.string(), settings);
}

}  // namespace tiletune
