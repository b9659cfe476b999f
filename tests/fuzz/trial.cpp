// Rows of a database that somebody else made, and all that is printed of them. Rows are separated by 0x1e and
// cells by 0x1f; a cell is "column=text", "column#number" or "column:integer".

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text.h"
#include "fuzz/fuzz.h"
#include "output/export.h"
#include "rank/ranking.h"
#include "store/columns.h"

namespace {

using namespace tiletune;
using namespace tiletune::fuzz;
using Json = nlohmann::ordered_json;

/// SQLite keeps no not-a-number: it is null there.
Cell number_cell(const std::string& text) {
  const double number = std::strtod(text.c_str(), nullptr);
  return std::isnan(number) ? Cell() : Cell(number);
}

Cell cell_of(char kind, const Column& column, const std::string& text) {
  if (column.type == CellType::blob) return Blob(text.begin(), text.end());
  if (kind == '#') return number_cell(text);
  if (kind == ':') return Cell(std::int64_t{std::strtoll(text.c_str(), nullptr, 10)});
  return Cell(text);
}

Trial trial_of(const std::string& cells) {
  Trial trial;
  trial.outcome = Outcome::ok;
  trial.median_us = 1;
  for (const std::string& cell : split(cells, '\x1f')) {
    const std::size_t at = cell.find_first_of("=#:");
    if (at == std::string::npos) continue;
    for (const Column& column : trial_columns()) {
      if (column.name == cell.substr(0, at))
        column.write(trial, cell_of(cell[at], column, cell.substr(at + 1)));
    }
  }
  return trial;
}

/// The records of a CSV text, RFC 4180, as numbers of fields.
std::vector<std::size_t> csv_fields(const std::string& csv) {
  std::vector<std::size_t> counts;
  bool quoted = false;
  std::size_t fields = 1;
  for (std::size_t i = 0; i < csv.size(); ++i) {
    if (csv[i] == '"') quoted = !quoted;
    if (quoted) continue;
    if (csv[i] == ',') ++fields;
    if (csv[i] != '\n') continue;
    counts.push_back(fields);
    fields = 1;
  }
  require(!quoted, "quotes of a CSV are closed");
  return counts;
}

void check_text(const std::string& text, Format format) {
  if (format == Format::json)
    return require(!Json::parse(text, nullptr, false).is_discarded(), "JSON is JSON");
  if (format == Format::csv) {
    const auto fields = csv_fields(text);
    for (const std::size_t count : fields)
      require(count == fields.front(), "all records have as many fields");
    return;
  }
  // Text from elsewhere must not command the terminal.
  for (const char c : text)
    require(c == '\n' || (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f), "no controls");
}

void check_rows(const std::vector<Trial>& trials, Format format) {
  const auto groups = rank_trials(trials);
  for (const char* order : {"", "-tflops", "parameters"}) {
    std::ostringstream out;
    write_rankings(out, groups, format, {2, order, {}, false});
    check_text(out.str(), format);
  }
  std::ostringstream ladders, rows;
  write_ladders(ladders, build_ladders(trials, {"", "a", "b"}), format, false);
  check_text(ladders.str(), format);
  write_trials(rows, trials, format,
               {"outcome", "template", "problem", "parameters", "gpu", "reason", "samples_us"}, 0);
  check_text(rows.str(), format);
}

void check_ranking(const std::vector<Trial>& trials) {
  for (const RankingGroup& group : rank_trials(trials)) {
    double fastest = 0;
    require(!group.rows.empty(), "a group has rows");
    for (const RankedTrial& row : group.rows) {
      require(ranking_time_us(row.trial).has_value(), "only rows that ran are ranked");
      if (row.rank == 1 && fastest == 0) fastest = *ranking_time_us(row.trial);
      require((row.trial.kind == "baseline") == (row.rank == 0), "baselines have no rank");
    }
    require(fastest > 0, "a group has a first");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  refused([&] {
    std::vector<Trial> trials;
    for (const std::string& row : split(text_of(data + 1, size - 1), '\x1e')) trials.push_back(trial_of(row));
    check_ranking(trials);
    check_rows(trials, static_cast<Format>(data[0] % 4));
    const auto replace = Json::error_handler_t::replace;
    check_text(best_as_json(rank_trials(trials), {}).dump(2, ' ', false, replace), Format::json);
    check_text(to_json(trials.front(), true).dump(1, ' ', false, replace), Format::json);
  });
  return 0;
}
