#include "foreign/import.h"

#include <fmt/format.h>

#include <bit>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "foreign/document.h"
#include "foreign/format.h"
#include "rank/rows.h"
#include "spec/problem.h"
#include "store/row_batch.h"

namespace tiletune {

namespace {

/// Columns that rows of other tools have.
constexpr std::array kForeignColumns{
    "key",       "kind",       "template",   "operation",    "problem",        "parameters",
    "outcome",   "reason",     "source",     "median_us",    "ci_low_us",      "ci_high_us",
    "min_us",    "mean_us",    "stddev_us",  "sample_count", "samples_us",     "tflops",
    "registers", "compile_ms", "measure_ms", "gpu",          "measure_policy", "recorded_at"};

/// The key hashes what determines a row and its result, but not the file: the same recording in another
/// format is the same row. It begins with the digits of the time, because keys that follow each other lie in
/// one place of their index, and keys at random all over it: for a million rows a quarter of what an import
/// computes.
std::string key_of(const Trial& trial) {
  Hasher hasher;
  hasher.add("imported").add(trial.gpu).add(trial.problem).add(trial.template_name).add(trial.parameters);
  hasher.add(name(trial.outcome)).add(trial.recorded_at);
  hasher.add(std::bit_cast<std::int64_t>(trial.mean_us.value_or(0)));
  constexpr std::size_t kDigitsOfSeconds = 14;
  std::string key;
  for (const char c : trial.recorded_at)
    if (c >= '0' && c <= '9' && key.size() < kDigitsOfSeconds) key += c;
  return key + hasher.hex().substr(key.size());
}

/// The times that a database has of imported configurations.
class KnownTimes {
 public:
  /// Reads the times of the GPU of these rows.
  KnownTimes(const Database& database, const Trial& shared) {
    static constexpr std::array kColumns{"gpu", "problem", "template", "parameters", "outcome", "mean_us"};
    TrialFilter filter;
    filter.gpus = {shared.gpu};
    filter.sources = {Source::imported};
    database.for_each(filter, kColumns, [&](std::int64_t, const Trial& row) {
      if (has_time(row)) times_[configuration_of(row)].push_back(*row.mean_us);
    });
    for (auto& [configuration, times] : times_) std::sort(times.begin(), times.end());
  }

  /// Throws UserError where the configuration of a row has times, but not this one.
  void check(const Trial& row, const Where& where) const {
    if (times_.empty() || !has_time(row)) return;
    const auto known = times_.find(configuration_of(row));
    if (known == times_.end()) return;
    constexpr double kRounding = 1e-6;  // formats round in their own ways
    const std::vector<double>& times = known->second;
    const auto near = std::lower_bound(times.begin(), times.end(), *row.mean_us * (1 - kRounding));
    if (near != times.end() && *near <= *row.mean_us * (1 + kRounding)) return;
    throw UserError(
        fmt::format("this configuration took {:.6g} us, but the database has {:.6g} us for it on '{}'",
                    *row.mean_us, times.front(), row.gpu),
        where,
        "If this is another GPU, name it: --gpu NAME. If the same GPU was recorded again: --recorded-again.");
  }

 private:
  static bool has_time(const Trial& row) { return row.outcome == Outcome::ok && row.mean_us; }
  /// GPU and problem, and the configuration, however its values are written.
  using Configuration = std::tuple<std::string, std::string, Identity>;
  static Configuration configuration_of(const Trial& row) {
    return {row.gpu, row.problem, identity_of(row.template_name, row.parameters)};
  }

  std::map<Configuration, std::vector<double>> times_;  ///< ascending
};

class Import {
 public:
  Import(Database& database, const std::filesystem::path& file, ImportFacts facts,
         const std::function<void(std::uint64_t)>& progress)
      : database_(database), file_(file), facts_(std::move(facts)), progress_(progress) {
    summary_.file = file;
  }

  ImportSummary run() {
    const DocumentEnd end =
        read_document(file_, events([&](const std::string& name) { begin_rows(name); },
                                    [&](const std::string& key, const JsonValue& row) { add(key, row); }));
    if (!format_)
      throw UserError("not a recording of a known tool", Where{file_.string(), ""},
                      "Import a cache file of Kernel Tuner, T4 results or the JSON output of KTT.");
    // Only Kernel Tuner writes its file as it goes on.
    if (end != DocumentEnd::whole && place_.pointer != "/cache")
      throw UserError("is cut off", Where{file_.string(), place_.pointer}, "Copy it again.");
    summary_.unfinished = end != DocumentEnd::whole;
    summary_.lost_row = end == DocumentEnd::within_a_row;
    batch_->commit();
    return std::move(summary_);
  }

 private:
  DocumentEvents events(std::function<void(const std::string&)> rows_begin,
                        std::function<void(const std::string&, const JsonValue&)> row) {
    const auto add_member = [&](const std::string& name, const JsonValue& value) {
      auto& memory = header_.GetAllocator();
      header_.AddMember(JsonValue(name.data(), static_cast<rapidjson::SizeType>(name.size()), memory),
                        JsonValue(value, memory), memory);
    };
    return {[](const std::string& name) { return kind_of(name) != nullptr; }, add_member,
            std::move(rows_begin), std::move(row)};
  }

  void begin_rows(const std::string& name) {
    if (format_)
      throw UserError("the rows are given in two places", Where{file_.string(), "/" + name},
                      "Remove one of the two.");
    const FormatKind& kind = *kind_of(name);
    // Mostly the rows come last. Where they do not, the file is read twice.
    if (find(header_, kind.header) == nullptr && std::filesystem::is_regular_file(file_)) {
      header_.RemoveAllMembers();
      read_document(file_, events([](const std::string&) {}, [](const std::string&, const JsonValue&) {}));
    }
    place_ = {file_.string(), "/" + name};
    format_ = kind.make(header_, facts_, file_.string());
    summary_.format = kind.name;
    if (!facts_.recorded_again) known_times_.emplace(database_, format_->shared());
    batch_.emplace(database_, kForeignColumns);
  }

  void add(const std::string& key, const JsonValue& row) {
    const Where where = key.empty() ? place_.at(static_cast<std::size_t>(summary_.rows)) : place_.at(key);
    if (!row.IsObject()) throw UserError("a row must be an object", where, "Correct or remove it.");
    row_ = format_->shared();
    format_->read(row, where, row_);
    if (known_times_) known_times_->check(row_, where);
    count();
    row_.key = key_of(row_);
    if (batch_->add(row_)) ++summary_.new_rows;
    constexpr std::uint64_t kOften = 65536;
    if (summary_.rows % kOften == 0) progress_(summary_.rows);
  }

  void count() {
    const auto note = [](std::set<std::string>& set, const std::string& text) {
      if (set.size() < kMostDistinct) set.insert(text);
    };
    ++summary_.rows;
    note(summary_.gpus, row_.gpu);
    note(summary_.problems, row_.problem);
    if (row_.kind == "kernel") {
      note(summary_.kernels, row_.template_name);
      note_parameters();
    }
    ++summary_.outcomes[row_.outcome];
    if (row_.outcome != Outcome::ok) {
      const std::pair why(row_.outcome, row_.reason);
      if (summary_.reasons.size() < kMostDistinct || summary_.reasons.contains(why)) ++summary_.reasons[why];
    }
    const std::string& when = row_.recorded_at;
    if (when.empty()) return;
    if (summary_.first_recorded_at.empty() || when < summary_.first_recorded_at)
      summary_.first_recorded_at = when;
    summary_.last_recorded_at = std::max(summary_.last_recorded_at, when);
  }

  /// Mostly a million rows have the same names, and reading each of them as JSON would take seconds.
  void note_parameters() {
    if (lists_.size() == kMostDistinct) return;
    std::string list;
    for_each_member(row_.parameters,
                    [&](std::string_view name, std::string_view /*value*/) { (list += name) += '"'; });
    if (!lists_.insert(std::move(list)).second) return;
    const auto json = nlohmann::ordered_json::parse(row_.parameters, nullptr, false);
    if (!json.is_object()) return;
    for (const auto& item : json.items())
      if (names_.size() < kMostDistinct && names_.insert(item.key()).second)
        summary_.parameters.push_back(item.key());
  }

  Database& database_;
  std::filesystem::path file_;
  ImportFacts facts_;
  const std::function<void(std::uint64_t)>& progress_;
  rapidjson::Document header_{rapidjson::kObjectType};
  Where place_;  ///< of the rows
  std::unique_ptr<ForeignFormat> format_;
  std::optional<RowBatch> batch_;
  std::optional<KnownTimes> known_times_;
  Trial row_;                    ///< here, because its memory is used again
  std::set<std::string> lists_;  ///< of names of parameters
  std::set<std::string> names_;  ///< of parameters
  ImportSummary summary_;
};

}  // namespace

bool is_sizes(const std::string& problem) { return written_sizes(problem).has_value(); }

ImportSummary import_file(Database& database, const std::filesystem::path& file, const ImportFacts& facts,
                          const std::function<void(std::uint64_t rows)>& progress) {
  return Import(database, file, facts, progress).run();
}

}  // namespace tiletune
