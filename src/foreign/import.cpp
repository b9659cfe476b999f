#include "foreign/import.h"

#include <fmt/format.h>

#include <bit>
#include <future>
#include <nlohmann/json.hpp>
#include <unordered_map>

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

/// The tool's own figure, or the median of one that gives no mean; 0 of what did not run.
double time_of(const Trial& row) {
  return row.outcome == Outcome::ok ? row.mean_us.value_or(row.median_us.value_or(0)) : 0;
}

/// GPU, problem and configuration, however its values are written.
Identity configuration_of(const Trial& row) {
  return identity_of(row.gpu + '\0' + row.problem + '\0' + row.template_name, row.parameters);
}

constexpr double kRounding = 1e-6;  ///< of times, which formats write in their own ways

/// Identities are hashes.
struct FirstWord {
  std::size_t operator()(const Identity& identity) const { return identity[0]; }
};

/// The key hashes what determines a row and its result, but not the file: the same recording in another
/// format is the same row. It begins with the digits of the time, because keys that follow each other lie in
/// one place of their index, and keys at random all over it: for a million rows a quarter of what an import
/// computes.
std::string key_of(const Trial& trial) {
  Hasher hasher;
  hasher.add("imported").add(trial.gpu).add(trial.problem).add(trial.template_name).add(trial.parameters);
  hasher.add(name(trial.outcome)).add(trial.recorded_at);
  hasher.add(std::bit_cast<std::int64_t>(trial.mean_us.value_or(trial.median_us.value_or(0))));
  constexpr std::size_t kDigitsOfSeconds = 14;
  std::string key;
  for (const char c : trial.recorded_at)
    if (c >= '0' && c <= '9' && key.size() < kDigitsOfSeconds) key += c;
  return key + hasher.hex().substr(key.size());
}

/// The time of a configuration, us (0: it did not run), and whether the file or the database has it.
struct KnownTime {
  double us = 0;
  bool is_of_file = false;
};

/// A row that is to be written.
struct PendingRow {
  Trial row;
  Where where;
  std::optional<double> other_us;  ///< of the database, if it differs
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
    if (!format_) throw UserError("not a recording of a known tool", Where{file_.string(), ""}, kImportable);
    // Only Kernel Tuner writes its file as it goes on.
    if (end != DocumentEnd::whole && place_.pointer != "/cache")
      throw UserError("is cut off", Where{file_.string(), place_.pointer}, "Copy it again.");
    summary_.unfinished = end != DocumentEnd::whole;
    summary_.lost_row = end == DocumentEnd::within_a_row;
    write_pending();
    collect_written();
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
    kind_ = kind_of(name);
    place_ = {file_.string(), "/" + name};
    // Mostly the rows come last. Where something is missing before them, the file is read twice.
    const bool is_regular = std::filesystem::is_regular_file(file_);
    const bool is_whole = kind_->header == nullptr || find(header_, kind_->header) != nullptr;
    try {
      if (is_whole || !is_regular) format_ = kind_->make(header_, facts_, file_.string());
    } catch (const UserError&) {
      if (!is_regular) throw;
    }
    if (!format_) {
      header_.RemoveAllMembers();
      read_document(file_, events([](const std::string&) {}, [](const std::string&, const JsonValue&) {}));
      format_ = kind_->make(header_, facts_, file_.string());
    }
    summary_.format = kind_->name;
    summary_.is_fastest_kept = kind_->repeats;
    batch_.emplace(database_, kForeignColumns);
  }

  void add(const std::string& key, const JsonValue& element) {
    const Where where = key.empty() ? place_.at(elements_++) : place_.at(key);
    if (kind_->within == nullptr) return add_row(element, key, where);
    const std::string name(text_of(element, "name"));
    std::size_t i = 0;
    for (const JsonValue& row : elements_of(element, kind_->within))
      add_row(row, name, where.at(kind_->within).at(i++));
  }

  void add_row(const JsonValue& row, const std::string& name, const Where& where) {
    if (kind_->is_profiled != nullptr && kind_->is_profiled(row)) {
      ++summary_.profiled;
      return;
    }
    row_ = format_->shared();
    try {
      if (kind_->are_pairs ? !row.IsArray() || row.Size() != 2 : !row.IsObject())
        throw UserError(
            fmt::format("a row must be {}", kind_->are_pairs ? "a list of two values" : "an object"), where,
            "Correct or remove it.");
      format_->read(row, name, where, row_);
      for (const std::string* label : {&row_.gpu, &row_.problem, &row_.template_name})
        if (label->size() > kMostLabelBytes)
          throw UserError(fmt::format("a name has {} bytes; the limit is {}", label->size(), kMostLabelBytes),
                          where, "Shorten it.");
    } catch (const UserError& error) {
      if (facts_.replayed || !error.where().pointer.starts_with(where.pointer)) throw;
      if (!facts_.skip_bad)
        throw UserError(error.message(), error.where(),
                        error.remedy() + " Or leave out such rows: --skip-bad.");
      if (summary_.bad_rows++ == 0) summary_.first_bad = error.where().text() + ": " + error.message();
      return;
    }
    count();
    // Those of the first GPU, and of all others once there are several.
    if (!facts_.recorded_again && gpus_.insert(row_.gpu).second && gpus_.size() <= 2) read_known_times();
    const double time = time_of(row_);
    const auto [known, is_new] = times_.try_emplace(configuration_of(row_), KnownTime{time, true});
    const KnownTime before = known->second;
    const bool differs = !is_new && std::abs(time - before.us) > kRounding * time;
    if (!is_new && before.is_of_file) {
      ++summary_.repeats;
      if (!differs || (kind_->repeats && (time == 0 || (before.us > 0 && before.us < time)))) return;
      if (!kind_->repeats && !facts_.recorded_again)
        refuse(row_, "an earlier row of the file", before.us, where);
    }
    known->second = {time, true};
    if (pending_count_ == pending_.size()) pending_.emplace_back();
    PendingRow& pending = pending_[pending_count_++];
    std::swap(pending.row, row_);
    pending.where = where;
    pending.other_us.reset();
    if (differs && !before.is_of_file && time > 0) pending.other_us = before.us;
    constexpr std::size_t kRowsAtOnce = 512;
    if (pending_count_ == kRowsAtOnce) write_pending();
    constexpr std::uint64_t kOften = 65536;
    if (summary_.rows % kOften == 0) progress_(summary_.rows);
  }

  /// Rows are written by a thread of its own while the next ones are read.
  void write_pending() {
    collect_written();
    std::swap(pending_, written_);
    written_count_ = std::exchange(pending_count_, 0);
    writer_ = std::async(std::launch::async, [this] {
      std::vector<bool> added;
      for (std::size_t i = 0; i < written_count_; ++i) {
        written_[i].row.key = key_of(written_[i].row);
        added.push_back(batch_->add(written_[i].row));
      }
      return added;
    });
  }

  void collect_written() {
    if (!writer_.valid()) return;
    const std::vector<bool> added = writer_.get();
    for (std::size_t i = 0; i < added.size(); ++i) {
      ++(added[i] ? summary_.new_rows : summary_.known_rows);
      const PendingRow& written = written_[i];
      if (added[i] && written.other_us) refuse(written.row, "the database", *written.other_us, written.where);
    }
  }

  void read_known_times() {
    collect_written();
    static constexpr std::array kColumns{"gpu",     "problem", "template", "parameters",
                                         "outcome", "mean_us", "median_us"};
    TrialFilter filter;
    if (gpus_.size() == 1) filter.gpus = {row_.gpu};
    filter.sources = {Source::imported};
    database_.for_each(filter, kColumns, [&](std::int64_t, const Trial& row) {
      if (!(time_of(row) > 0)) return;
      KnownTime& known = times_[configuration_of(row)];
      if (!known.is_of_file) known.us = time_of(row);
    });
  }

  [[noreturn]] void refuse(const Trial& row, const char* whose, double other_us, const Where& where) const {
    const auto said = [](double us) { return us > 0 ? fmt::format("{:.6g} us", us) : "no time"; };
    throw UserError(fmt::format("the row has {} for its configuration, but {} has {} for it on '{}'",
                                said(time_of(row)), whose, said(other_us), row.gpu),
                    where,
                    facts_.replayed ? "tiletune import FILE --db X.db --recorded-again, then --replay X.db."
                                    : "If this is another GPU, name it: --gpu NAME. If it is the same GPU, "
                                      "recorded again: --recorded-again.");
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
  std::set<std::string> gpus_;                                ///< whose times in the database were read
  std::unordered_map<Identity, KnownTime, FirstWord> times_;  ///< of configurations
  const FormatKind* kind_ = nullptr;
  std::size_t elements_ = 0;     ///< of a list of rows, so far
  Trial row_;                    ///< here, because its memory is used again
  std::set<std::string> lists_;  ///< of names of parameters
  std::set<std::string> names_;  ///< of parameters
  ImportSummary summary_;
  std::vector<PendingRow> pending_, written_;  ///< longer than their counts, because memory is used again
  std::size_t pending_count_ = 0, written_count_ = 0;
  std::future<std::vector<bool>> writer_;  ///< the last, so that it ends before what it uses is gone
};

}  // namespace

bool is_sizes(const std::string& problem) { return written_sizes(problem).has_value(); }

ImportSummary import_file(Database& database, const std::filesystem::path& file, const ImportFacts& facts,
                          const std::function<void(std::uint64_t rows)>& progress) {
  return Import(database, file, facts, progress).run();
}

}  // namespace tiletune
