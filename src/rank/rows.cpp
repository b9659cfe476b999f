#include "rank/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/text.h"

namespace tiletune {

namespace {

/// Where a JSON string that begins at `from` ends: behind its closing quote.
std::size_t end_of_string(std::string_view text, std::size_t from) {
  std::size_t at = from + 1;
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return std::min(at + 1, text.size());
}

/// Where a value that begins at `from` ends: before a comma or the bracket that closes what it is in.
std::size_t end_of_value(std::string_view text, std::size_t from) {
  int depth = 0;
  std::size_t at = from;
  while (at < text.size()) {
    const char c = text[at];
    if (depth == 0 && (c == ',' || c == '}')) return at;
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    at = c == '"' ? end_of_string(text, at) : at + 1;
  }
  return at;
}

/// Returns a value, as it is written in JSON, in the one way that identities know: "1" for "1.0" and "true".
/// It is the value itself or in `scratch`.
std::string_view canonical_value(std::string_view value, std::string& scratch) {
  if (value == "true") return "1";
  if (value == "false" || value == "-0") return "0";
  const bool has_point = value.find_first_of(".eE") != value.npos;
  if (!has_point || (value.front() != '-' && (value.front() < '0' || value.front() > '9'))) return value;
  double number = 0;
  const char* const end = value.data() + value.size();
  const auto [rest, error] = std::from_chars(value.data(), end, number);
  if (error != std::errc() || rest != end) return value;
  // What is larger is left as it is, because not every integer there is a double.
  constexpr double kExact = 9007199254740992;  // 2^53
  const bool is_whole = std::trunc(number) == number && std::abs(number) <= kExact;
  return scratch = is_whole ? std::to_string(static_cast<std::int64_t>(number)) : fmt::format("{}", number);
}

using Members = std::vector<std::pair<std::string_view, std::string_view>>;

/// `length`: about that of all names and values.
Identity identity_of(std::string_view template_name, Members& members, std::size_t length) {
  std::sort(members.begin(), members.end());
  std::string text;
  text.reserve(template_name.size() + length);
  text.append(template_name);
  std::string scratch;
  for (const auto& [name, value] : members)
    text.append(1, '\0').append(name).append(1, '\0').append(canonical_value(value, scratch));
  return checksum128(text);
}

}  // namespace

void for_each_member(std::string_view object,
                     const std::function<void(std::string_view name, std::string_view value)>& visit) {
  std::size_t at = object.find('"');
  while (at < object.size()) {
    const std::size_t end_of_name = end_of_string(object, at);
    const std::string_view name = object.substr(at + 1, std::max(end_of_name, at + 2) - at - 2);
    const std::size_t value = std::min(object.find(':', end_of_name), object.size() - 1) + 1;
    const std::size_t end = end_of_value(object, value);
    visit(name, trim(object.substr(value, end - value)));
    at = object.find('"', end);
  }
}

Identity identity_of(std::string_view template_name, std::string_view parameters) {
  constexpr std::size_t kMembers = 16;  // few templates have more
  Members members;
  members.reserve(kMembers);
  for_each_member(parameters,
                  [&](std::string_view name, std::string_view value) { members.emplace_back(name, value); });
  if (members.empty()) return checksum128(std::string(template_name).append(1, '\0').append(parameters));
  return identity_of(template_name, members, parameters.size());
}

WrittenAs::WrittenAs(const std::vector<Value>& values) {
  std::string scratch;
  for (const Value& value : values) {
    const std::string text = to_json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    values_.emplace(canonical_value(text, scratch), &value);
  }
}

const Value* WrittenAs::find(std::string_view written) const {
  std::string scratch;
  const auto found = values_.find(std::string(canonical_value(written, scratch)));
  return found == values_.end() ? nullptr : found->second;
}

namespace {

/// Rows that have it in common may replace each other.
auto configuration_of(const RankingRow& row) { return std::tie(row.group, row.is_baseline, row.identity); }

bool failed(const RankingRow& row) { return row.time_us == 0; }

/// Group by group, kernels before baselines, fastest first, and what did not run behind them.
bool faster(const RankingRow& a, const RankingRow& b) {
  const bool a_failed = failed(a);
  const bool b_failed = failed(b);
  return std::tie(a.group, a_failed, a.is_baseline, a.time_us, a.key, a.id) <
         std::tie(b.group, b_failed, b.is_baseline, b.time_us, b.key, b.id);
}

/// Half of what two copies of one kernel may differ by, as a fraction. What no tiletune has written counts as
/// none.
double half_noise(const Trial& trial) {
  const double percent = trial.noise_floor_percent.value_or(0);
  return std::isfinite(percent) ? std::max(0.0, percent) / 200 : 0;
}

/// Rows that belong to no recorded sweep were timed together, as far as can be known.
constexpr std::int64_t kUnknownSweep = -1;

/// Predictions are exact numbers of a model: only equal ones tie.
void add_time(RankingRow& row, const Trial& trial) {
  const auto time = ranking_time_us(trial);
  if (!time) return;
  row.time_us = row.first_us = row.low_us = row.high_us = *time;
  if (trial.source == Source::predicted) return;
  if (trial.timed_in == "final") {
    row.finals_sweep = trial.sweep_id != 0 ? trial.sweep_id : kUnknownSweep;
    row.first_us = first_time_us(trial);
  }
  const double noise = half_noise(trial);
  row.low_us = std::min(*time, trial.ci_low_us.value_or(*time) * (1 - noise));
  row.high_us = std::max(*time, trial.ci_high_us.value_or(*time) * (1 + noise));
}

/// Finals of a group, by their kernels.
struct FinalsTimes {
  std::int64_t kernels = 0;
  double changes = 0;  ///< sum over them of the time there by the time before
  const RankingRow* fastest_before = nullptr;

  void add(const RankingRow& row) {
    ++kernels;
    changes += row.time_us / row.first_us;
    if (fastest_before == nullptr ||
        std::tie(row.first_us, row.key) < std::tie(fastest_before->first_us, fastest_before->key))
      fastest_before = &row;
  }
  double pace() const { return changes / static_cast<double>(kernels); }
  /// Whether it rather decides its group.
  bool goes_before(const FinalsTimes& other) const {
    const auto order = [](const FinalsTimes& times) {
      return std::make_tuple(times.kernels < 2, times.fastest_before->first_us, times.fastest_before->key);
    };
    return order(*this) < order(other);
  }
};

}  // namespace

std::optional<double> ranking_time_us(const Trial& trial) {
  if (trial.outcome != Outcome::ok) return std::nullopt;
  const bool by_prediction = trial.source == Source::predicted && trial.predicted_us.has_value();
  const std::optional<double> time = by_prediction ? trial.predicted_us : trial.median_us;
  return time.has_value() && std::isfinite(*time) && *time > 0 ? time : std::nullopt;
}

bool take_statistic(Statistic statistic, Trial& trial) {
  if (!trial.median_us || !(*trial.median_us > 0) || trial.source == Source::predicted) return true;
  // A row of another tool that has no samples repeats its mean.
  if (statistic == Statistic::median)
    return trial.source != Source::imported || trial.sample_count || trial.median_us != trial.mean_us;
  const std::optional<double> time = statistic == Statistic::mean ? trial.mean_us : trial.min_us;
  if (!time) return false;
  const double factor = *time / *trial.median_us;
  for (auto* figure : {&trial.median_us, &trial.first_median_us})
    if (*figure) **figure *= factor;
  for (auto* rate : {&trial.tflops, &trial.gbs})
    if (*rate) **rate /= factor;
  trial.ci_low_us = trial.ci_high_us = std::nullopt;  // they are the median's
  if (statistic != Statistic::mean || !trial.stddev_us || trial.sample_count.value_or(0) < 2) return true;
  const double half = 1.96 * *trial.stddev_us / std::sqrt(static_cast<double>(*trial.sample_count));
  trial.ci_low_us = *time - half;
  trial.ci_high_us = *time + half;
  return true;
}

double first_time_us(const Trial& trial) {
  const double time = ranking_time_us(trial).value_or(0);
  if (time == 0 || trial.source == Source::predicted || trial.timed_in != "final") return time;
  const double first = trial.first_median_us.value_or(time);
  return std::isfinite(first) && first > 0 ? first : time;
}

Comparable comparable_of(const Trial& trial) {
  return {trial.gpu, trial.problem, trial.source, conditions_of(trial), trial.cache, trial.operation_hash};
}

Comparable Comparable::marked() const {
  Comparable told = *this;
  if (!definition.empty()) told.conditions.insert(std::min(conditions.find(','), conditions.size()), mark());
  return told;
}

Comparable Comparable::unmarked() const {
  Comparable plain = *this;
  if (tells_definition()) plain.conditions.erase(conditions.find(mark()), mark().size());
  return plain;
}

Comparable without_cache(const Comparable& what) {
  Comparable rest = what;
  if (what.conditions == what.cache)
    rest.conditions.clear();
  else if (!what.cache.empty())
    rest.conditions.resize(what.conditions.size() - what.cache.size() - std::string_view(", ").size());
  rest.cache.clear();
  return rest;
}

std::string relevant_types(const std::string& element_types) {
  const std::size_t last = element_types.rfind(" accumulator:");
  if (last == std::string::npos) return element_types;
  std::string buffers = element_types.substr(0, last);
  for (const std::string& buffer : split(buffers, ' ')) {
    const std::string type = buffer.substr(buffer.find(':') + 1);
    if (!type.starts_with('i') && !type.starts_with('u') && type != "bool") return element_types;
  }
  return buffers;
}

std::string conditions_of(const Trial& trial) {
  std::string text;
  // Behind the hash stands what is unusual about the tolerance.
  const std::size_t space = std::min(trial.operation_hash.find(' '), trial.operation_hash.size());
  const std::string tolerance(trim(std::string_view(trial.operation_hash).substr(space)));
  for (const std::string& part : {trial.operation, trial.options, relevant_types(trial.element_types),
                                  trial.scalars, tolerance, trial.cache}) {
    if (part.empty()) continue;
    text += text.empty() ? part : ", " + part;
  }
  return text;
}

std::span<const char* const> ranking_columns() {
  static constexpr const char* kNames[] = {"key",
                                           "kind",
                                           "template",
                                           "operation",
                                           "operation_hash",
                                           "options",
                                           "problem",
                                           "scalars",
                                           "parameters",
                                           "outcome",
                                           "source",
                                           "element_types",
                                           "cache",
                                           "gpu",
                                           "median_us",
                                           "ci_low_us",
                                           "ci_high_us",
                                           "noise_floor_percent",
                                           "discarded_samples",
                                           "timed_in",
                                           "first_median_us",
                                           "predicted_us",
                                           "relative_error",
                                           "registers",
                                           "occupancy",
                                           "chosen_at",
                                           "recorded_at",
                                           "sweep_id",
                                           "seen_in_sweep"};
  return kNames;
}

RankingRows ranking_rows(const Database& database, const TrialFilter& filter) {
  RankingRows rows{SweepOrder(database)};
  database.for_each(filter, ranking_columns(),
                    [&](std::int64_t id, const Trial& trial) { rows.add(id, trial); });
  return rows;
}

RankingRows ranking_rows_by(const std::string& time, const Database& database, const TrialFilter& filter) {
  std::vector<const char*> columns(ranking_columns().begin(), ranking_columns().end());
  columns.push_back(time.c_str());
  const Column& figure = column_by_name(time);
  RankingRows rows{SweepOrder(database)};
  Trial own;
  database.for_each(filter, columns, [&](std::int64_t id, const Trial& trial) {
    const Cell cell = figure.read(trial);
    const auto* time_us = std::get_if<double>(&cell);
    own = trial;
    // One without the time takes an earlier one of its configuration along.
    if (time_us == nullptr && trial.outcome == Outcome::ok) own.outcome = Outcome::screened_out;
    own.median_us = own.first_median_us = own.ci_low_us = own.ci_high_us =
        time_us == nullptr ? std::nullopt : std::optional(*time_us);
    rows.add(id, own);
  });
  return rows;
}

void RankingRows::add(std::int64_t id, const Trial& trial) {
  RankingRow row;
  row.is_baseline = trial.kind == "baseline";
  if (!row.is_baseline && trial.kind != "kernel") return;
  if (!row.is_baseline) {
    const auto next = static_cast<std::uint32_t>(kernel_templates_.size());
    const auto [place, is_new] = template_numbers_.try_emplace(trial.template_name, next);
    if (is_new) kernel_templates_.push_back(trial.template_name);
    row.template_number = place->second;
  }
  if (trial.outcome == Outcome::dispatched || trial.outcome == Outcome::not_recorded) return;
  DatedRow& dated = row;
  dated = {id, trial, order_};
  row.identity = identity_of(trial.template_name, trial.parameters);
  const auto next = static_cast<std::uint32_t>(groups_.size());
  const auto [group, is_new] = group_numbers_.try_emplace(comparable_of(trial), next);
  if (is_new) groups_.push_back(group->first);
  row.group = group->second;
  row.has_discards = trial.discarded_samples.value_or(0) > 0;
  add_time(row, trial);
  row.is_undecided = failed(row) && !proves_failure(trial.outcome, trial.reason);
  row.is_unverified = is_unverified(trial);
  row.registers = trial.registers.value_or(std::numeric_limits<std::int64_t>::max());
  row.occupancy = trial.occupancy.value_or(0);
  row.key = ShortText<32>(trial.key);
  row.chosen_at = ShortText<20>(trial.chosen_at);
  rows_.push_back(row);
}

void RankingRows::add_screened(std::int64_t id, Trial& trial) {
  trial.outcome = Outcome::ok;
  const std::size_t before = rows_.size();
  add(id, trial);
  if (rows_.size() > before) rows_.back().is_screened = true;
}

void RankingRows::tell_definitions_apart() {
  std::map<Comparable, std::vector<Comparable*>> alike;
  for (Comparable& group : groups_) {
    group = group.unmarked();
    Comparable rest = group;
    rest.definition.clear();
    alike[rest].push_back(&group);
  }
  for (const auto& [rest, groups] : alike) {
    if (groups.size() < 2) continue;
    for (Comparable* group : groups) *group = group->marked();
  }
}

void RankingRows::bring_to_pace_of_finals() {
  std::map<std::uint32_t, std::map<std::int64_t, FinalsTimes>> finals;
  for (const RankingRow& row : rows_) {
    if (!row.is_baseline && !failed(row) && row.finals_sweep != 0)
      finals[row.group][row.finals_sweep].add(row);
  }
  std::map<std::uint32_t, std::pair<std::int64_t, double>> deciding;
  for (const auto& [group, of_group] : finals) {
    const auto first = std::min_element(of_group.begin(), of_group.end(), [](const auto& a, const auto& b) {
      return a.second.goes_before(b.second);
    });
    deciding[group] = {first->first, first->second.pace()};
  }
  for (RankingRow& row : rows_) {
    const auto decided = deciding.find(row.group);
    if (decided == deciding.end() || failed(row)) continue;
    row.in_finals = row.finals_sweep == decided->second.first;
    if (row.in_finals) continue;
    const double factor = decided->second.second * row.first_us / row.time_us;
    for (double* time : {&row.time_us, &row.low_us, &row.high_us}) *time *= factor;
  }
}

std::vector<ComparableRows> RankingRows::comparable(Groups groups) {
  // A kernel that has become wrong must not rank with the time of its former source, so failures count here.
  tell_definitions_apart();
  keep_latest(rows_, configuration_of);
  bring_to_pace_of_finals();
  std::sort(rows_.begin(), rows_.end(), faster);
  std::vector<ComparableRows> sets;
  for (auto first = rows_.cbegin(); first != rows_.cend();) {
    const auto is_of_group = [&](const RankingRow& row) { return row.group == first->group; };
    const auto is_baseline = [](const RankingRow& row) { return row.is_baseline; };
    const auto last = std::find_if_not(first, rows_.cend(), is_of_group);
    const auto failures = std::find_if(first, last, failed);
    const auto baselines = std::find_if(first, failures, is_baseline);
    const auto failed_baselines = std::find_if(failures, last, is_baseline);
    if (baselines != first || (groups == Groups::all && failed_baselines != failures)) {
      sets.push_back(
          {&groups_[first->group], {first, baselines}, {baselines, failures}, {failures, failed_baselines}});
    }
    first = last;
  }
  return sets;
}

SweepOrder::SweepOrder(const std::vector<const Database*>& databases) {
  std::vector<std::tuple<std::string, std::size_t, std::int64_t>> begun;
  for (std::size_t i = 0; i < databases.size(); ++i)
    for (const SweepRecord& sweep : databases[i]->sweeps()) begun.emplace_back(sweep.started_at, i, sweep.id);
  if (databases.size() == 1 && std::ranges::is_sorted(begun)) return;
  std::ranges::sort(begun);
  places_.resize(databases.size());
  std::int64_t place = 0;
  for (const auto& [started_at, database, id] : begun) places_[database].emplace(id, ++place);
}

std::int64_t SweepOrder::operator()(std::int64_t sweep, std::size_t database) const {
  if (places_.empty()) return sweep;
  const auto found = places_[database].find(sweep);
  return found == places_[database].end() ? 0 : found->second;
}

/// SQLite numbers rows from 1; no table holds so many.
static constexpr int kBitsOfRow = 48;

void Databases::for_each(const TrialFilter& filter, std::span<const char* const> columns,
                         const std::function<void(std::int64_t, Trial&)>& visit) const {
  Trial own;
  for (std::size_t i = 0; i < databases_.size(); ++i) {
    databases_[i]->for_each(filter, columns, [&](std::int64_t id, const Trial& trial) {
      if (id < 0 || id >> kBitsOfRow != 0)
        throw UserError(fmt::format("a row has the id {}, which tiletune never assigns", id),
                        Where{databases_[i]->file().string(), ""},
                        "Write the rows to another database: tiletune merge FILE.db -o NEW.db");
      own = trial;
      // One database keeps the numbers that people know its sweeps by.
      if (databases_.size() > 1) own.sweep_id = order_(own.sweep_id, i);
      own.seen_in_sweep = order_(own.seen_in_sweep, i);
      visit(static_cast<std::int64_t>(i) << kBitsOfRow | id, own);
    });
  }
}

Trial Databases::row(std::int64_t id) const {
  return databases_.at(index_of(id))->row(id & ((std::int64_t{1} << kBitsOfRow) - 1));
}

std::size_t Databases::index_of(std::int64_t id) { return static_cast<std::size_t>(id >> kBitsOfRow); }

}  // namespace tiletune
