// Rows of a database that somebody else made, and all that is printed of them. Rows are separated by 0x1e and
// cells by 0x1f; a cell is "column=text", "column#number" or "column:integer".

#include <SQLiteCpp/SQLiteCpp.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/text.h"
#include "fuzz/fuzz.h"
#include "output/export.h"
#include "output/views.h"
#include "rank/ranking.h"
#include "store/columns.h"
#include "store/samples.h"
#include "store/schema.h"

namespace {

using namespace tiletune;
using namespace tiletune::fuzz;
using Json = nlohmann::ordered_json;
using Cells = std::map<std::string, Cell>;

Cell cell_of(char kind, CellType type, const std::string& text) {
  if (type == CellType::blob) return Blob(text.begin(), text.end());
  if (kind == '#') return std::strtod(text.c_str(), nullptr);
  if (kind == ':') return std::int64_t{std::strtoll(text.c_str(), nullptr, 10)};
  return text;
}

/// A kernel that ran, but for what the text says.
Cells cells_of(const std::string& row, std::size_t number) {
  Cells cells = {{"key", std::to_string(number)},
                 {"kind", "kernel"},
                 {"outcome", "ok"},
                 {"source", "measured"},
                 {"median_us", 1.0}};
  for (const std::string& cell : split(row, '\x1f')) {
    const std::size_t at = cell.find_first_of("=#:");
    if (at == std::string::npos) continue;
    for (const Column& column : stored_columns()) {
      if (column.name == cell.substr(0, at))
        cells[column.name] = cell_of(cell[at], column.type, cell.substr(at + 1));
    }
  }
  return cells;
}

/// One database for all inputs. Its columns take cells of any type, although the file says that they do not:
/// that is what others can make of it byte by byte.
class AnyRows {
 public:
  AnyRows() : connection_(path(), SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE) {
    connection_.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;");
    connection_.exec(replaced(replaced(schema_sql(), "TEXT NOT NULL", "TEXT"), " STRICT", ""));
    claim_own_definitions();
    database_.emplace(path(), Database::Mode::read_only);
  }

  const Database& hold(const std::vector<std::string>& rows) {
    SQLite::Transaction transaction(connection_);
    connection_.exec("DELETE FROM sweep_trial; DELETE FROM trial; DELETE FROM calibration;");
    for (std::size_t i = 0; i < rows.size(); ++i) insert(cells_of(rows[i], i));
    connection_.exec(calibrations_sql());
    transaction.commit();
    return *database_;
  }

 private:
  static std::string path() { return (scratch_folder() / "trials.db").string(); }

  /// This connection goes on with the definitions that it made, others read the claimed ones.
  void claim_own_definitions() {
    SQLite::Database own(":memory:", SQLite::OPEN_READWRITE | SQLite::OPEN_CREATE);
    own.exec(schema_sql());
    connection_.exec("PRAGMA writable_schema = ON");
    SQLite::Statement definition(own, "SELECT sql, type, name FROM sqlite_schema WHERE sql IS NOT NULL");
    SQLite::Statement claim(connection_, "UPDATE sqlite_schema SET sql = ? WHERE type = ? AND name = ?");
    while (definition.executeStep()) {
      for (int column = 0; column < 3; ++column)
        claim.bind(column + 1, definition.getColumn(column).getString());
      claim.exec();
      claim.reset();
    }
  }

  /// Texts of a calibration come from the trial's column of the same name, its figures from `median_us`.
  static std::string calibrations_sql() {
    std::vector<std::string> values;
    for (const CalibrationColumn& column : calibration_columns())
      values.emplace_back(column.member.index() == 0 ? column.name : "median_us");
    return fmt::format("INSERT OR IGNORE INTO calibration SELECT {} FROM trial", join(values, ", "));
  }

  static std::string replaced(std::string text, std::string_view what, std::string_view by) {
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
      text.replace(at, what.size(), by);
    return text;
  }

  /// Rows of an empty key or one that is taken are left out.
  void insert(const Cells& cells) {
    if (!insert_) insert_.emplace(connection_, insert_sql());
    insert_->reset();
    int index = 0;
    for (const Column& column : stored_columns()) {
      const auto found = cells.find(column.name);
      bind_cell(*insert_, ++index, found == cells.end() ? Cell() : found->second);
    }
    insert_->exec();
  }

  static std::string insert_sql() {
    const std::string marks = join(std::vector<std::string>(stored_columns().size(), "?"), ", ");
    return fmt::format("INSERT OR IGNORE INTO trial ({}) VALUES ({})", column_list(), marks);
  }

  SQLite::Database connection_;
  std::optional<SQLite::Statement> insert_;
  std::optional<Database> database_;
};

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

void check_rows(const Database& database, Format format) {
  RankingRows rows = ranking_rows(database, {});
  const auto groups = rank_rows(rows);
  for (const char* order : {"", "-tflops", "parameters"}) {
    std::ostringstream out;
    write_view(out, rankings_view(groups, database, {2, order}), format, {});
    check_text(out.str(), format);
  }
  std::ostringstream ladders;
  write_view(ladders,
             ladders_view(build_ladders(rows, {{"", "", {}}, {"a", "", {}}, {"b", "", {}}}), database),
             format, {});
  check_text(ladders.str(), format);
  check_text(best_as_json(groups, database).dump(2, ' ', false, Json::error_handler_t::replace),
             Format::json);
}

void check_ranking(const Database& database) {
  RankingRows rows = ranking_rows(database, {});
  for (const RankingGroup& group : rank_rows(rows)) {
    double fastest = 0;
    std::map<int, bool> in_finals;  // By rank.
    require(!group.rows.empty(), "a group has rows");
    for (const RankedRow& row : group.rows) {
      const Trial trial = database.row(row.id);
      require(ranking_time_us(trial).has_value(), "only rows that ran are ranked");
      if (row.rank == 1 && fastest == 0) fastest = *ranking_time_us(trial);
      require((trial.kind == "baseline") == (row.rank == 0), "baselines have no rank");
      require(row.rank == 0 || trial.kind == "kernel", "only kernels are ranked");
      const bool known = !in_finals.emplace(row.rank, row.in_finals).second;
      require(row.rank == 0 || !known || in_finals[row.rank] == row.in_finals,
              "finals tie with finals alone");
    }
    require(fastest > 0, "a group has a first");
  }
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](double x, double y) {
    return std::bit_cast<std::uint64_t>(x) == std::bit_cast<std::uint64_t>(y);
  });
}

/// The bytes as packed samples, and as samples to pack.
void check_samples(const std::uint8_t* data, std::size_t size) {
  std::vector<double> samples(size / sizeof(double));
  if (!samples.empty()) std::memcpy(samples.data(), data, samples.size() * sizeof(double));
  require(same_bits(unpack_samples(pack_samples(samples)), samples), "samples come back bit for bit");
  refused([&] {
    const std::vector<double> unpacked = unpack_samples(Blob(data, data + size));
    require(same_bits(unpack_samples(pack_samples(unpacked)), unpacked), "unpacked samples can be packed");
  });
}

/// All rows, whether they ran or not.
void check_listing(const Database& database, Format format) {
  std::ostringstream listed, exported;
  write_view(listed,
             trials_view(database, {},
                         {"outcome", "template", "problem", "parameters", "gpu", "median_us", "reason",
                          "samples_us", "clocks_mhz"},
                         0),
             format, {});
  check_text(listed.str(), format);
  write_export(exported, database, {.samples = true});
  check_text(exported.str(), Format::json);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static AnyRows rows;
  if (size == 0) return 0;
  check_samples(data + 1, size - 1);
  const auto format = static_cast<Format>(data[0] % 4);
  const Database& database = rows.hold(split(text_of(data + 1, size - 1), '\x1e'));
  database.at_one_state([&] {
    refused([&] { check_ranking(database); });
    refused([&] { check_rows(database, format); });
    refused([&] { check_listing(database, format); });
  });
  return 0;
}
