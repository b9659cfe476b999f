#include "replay/recording.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/text.h"
#include "store/filter.h"
#include "tune/row.h"

namespace tiletune {

namespace {

[[noreturn]] void throw_no_rows(const std::string& file) {
  throw UserError("holds no row that could be replayed", Where{file, ""},
                  "Record some with 'tiletune sweep' first.");
}

}  // namespace

std::vector<RecordedSet> recorded_sets(const Database& database) {
  static constexpr std::array kColumns{"gpu", "source", "kind", "outcome"};
  std::vector<RecordedSet> sets;
  TrialFilter filter;
  filter.sources = {Source::measured, Source::imported, Source::predicted};
  filter.baselines = false;
  filter.source_age = SourceAge::newest;
  database.for_each(filter, kColumns, [&](std::int64_t /*id*/, const Trial& row) {
    if (row.kind != "kernel" || row.outcome == Outcome::dispatched) return;
    auto set = std::find_if(sets.begin(), sets.end(), [&](const RecordedSet& other) {
      return other.gpu == row.gpu && other.source == row.source;
    });
    if (set == sets.end()) set = sets.insert(sets.end(), {row.gpu, row.source, 0});
    ++set->kernels;
  });
  return sets;
}

const RecordedSet& choose_set(const std::vector<RecordedSet>& sets, const std::string& gpu,
                              const std::string& file) {
  std::vector<std::string> all;
  for (const RecordedSet& set : sets)
    if (std::find(all.begin(), all.end(), set.gpu) == all.end()) all.push_back(set.gpu);
  if (all.empty()) throw_no_rows(file);
  std::vector<std::string> matching = gpu.empty() ? all : matching_gpus(all, {gpu});
  const auto whole = std::find_if(matching.begin(), matching.end(),
                                  [&](const std::string& name) { return squashed(name) == squashed(gpu); });
  if (whole != matching.end()) matching = {*whole};
  if (matching.empty())
    throw UserError(fmt::format("{} holds no rows of a GPU '{}'", file, gpu), Where{"--gpu", ""},
                    fmt::format("It has {}.", join(all, ", ")));
  if (matching.size() > 1)
    throw UserError(fmt::format("{} holds rows of several such GPUs", file), Where{"--gpu", ""},
                    fmt::format("Name one of {}.", join(matching, ", ")));
  const auto rank = [&](const RecordedSet& set) {
    constexpr std::array kOrder{Source::measured, Source::imported, Source::predicted};
    const auto place = std::find(kOrder.begin(), kOrder.end(), set.source) - kOrder.begin();
    return std::pair(set.gpu != matching.front(), place);
  };
  return *std::min_element(sets.begin(), sets.end(),
                           [&](const RecordedSet& a, const RecordedSet& b) { return rank(a) < rank(b); });
}

Recording::Recording(RecordedSet set, SweepOrder order, Reader read)
    : set_(std::move(set)), order_(std::move(order)), read_(std::move(read)) {
  entries_.reserve(static_cast<std::size_t>(set_.kernels));
}

std::string Recording::conditions_text(const Trial& trial) const {
  std::string text = trial.problem + '\0';
  if (set_.source == Source::imported) return text;
  for (const std::string* part : {&trial.operation, &trial.options, &trial.element_types, &trial.scalars})
    text.append(*part).append(1, '\0');
  return set_.source == Source::measured ? text + trial.cache + '\0' : text;
}

std::string Recording::place_of(const Trial& like) const {
  return conditions_text(like) + like.template_name + '\0';
}

void Recording::add(std::int64_t id, const Trial& row) {
  const bool is_baseline = row.kind == "baseline";
  const bool is_kernel = row.kind == "kernel" && row.outcome != Outcome::dispatched;
  if ((!is_baseline && !is_kernel) || row.gpu != set_.gpu || row.source != set_.source) return;
  const std::string key = is_baseline ? conditions_text(row) : place_of(row);
  const auto [found, is_new] = places_.try_emplace(key);
  Place& place = found->second;
  if (is_new) place.number = static_cast<std::uint32_t>(places_.size() - 1);
  if (is_new && is_kernel) {
    place.conditions = conditions_of(row);
    place.text = fmt::format("{} {}", row.template_name, row.problem);
    if (!place.conditions.empty()) place.text += fmt::format(" ({})", place.conditions);
  }
  Entry entry;
  DatedRow& dated = entry;
  dated = {id, row, order_};
  entry.place = place.number;
  entry.outcome = row.outcome;
  entry.time_us = ranking_time_us(row).value_or(0);
  const bool is_screened =
      row.outcome == Outcome::screened_out && row.median_us && std::isfinite(*row.median_us);
  entry.result_us = is_screened ? *row.median_us : entry.time_us;
  const double spent_ms = row.compile_ms.value_or(0) + row.measure_ms.value_or(0);
  if (std::isfinite(spent_ms) && spent_ms > 0) entry.spent_ms = spent_ms;
  entry.stopped = row.outcome == Outcome::compile_timeout && !row.compile_ms;
  if (is_baseline) {
    entry.identity = checksum128(key + row.template_name);
    baselines_.push_back(entry);
    return;
  }
  for_each_member(row.parameters, [&](std::string_view name, std::string_view /*value*/) {
    const auto at = std::lower_bound(place.names.begin(), place.names.end(), name);
    if (at == place.names.end() || *at != name) place.names.emplace(at, name);
  });
  entry.identity = identity_of(key, row.parameters);
  entries_.push_back(entry);
}

std::size_t Recording::timed(bool without_costs) const {
  return static_cast<std::size_t>(std::count_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.time_us > 0 && !(without_costs && entry.spent_ms > 0);
  }));
}

void Recording::finish() {
  const auto identity = [](const Entry& entry) { return std::tie(entry.identity); };
  keep_latest(entries_, identity);
  keep_latest(baselines_, identity);
  std::vector<std::uint64_t> counts(places_.size());
  for (const Entry& entry : entries_) ++counts[entry.place];
  for (auto& [key, place] : places_) place.configurations = counts[place.number];
}

const Recording::Place* Recording::place(const std::string& place) const {
  const auto found = places_.find(place);
  return found == places_.end() ? nullptr : &found->second;
}

const Recording::Entry* Recording::find(const std::string& place, const std::string& parameters) const {
  const Identity identity = identity_of(place, parameters);
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), identity,
                       [](const Entry& entry, const auto& wanted) { return entry.identity < wanted; });
  return found == entries_.end() || found->identity != identity ? nullptr : &*found;
}

std::vector<std::int64_t> Recording::baselines(const Trial& like) const {
  std::vector<std::int64_t> ids;
  const Place* where = place(conditions_text(like));
  for (const Entry& entry : baselines_)
    if (where != nullptr && entry.place == where->number) ids.push_back(entry.id);
  return ids;
}

std::optional<double> Recording::fastest_us(
    const std::string& place_key, const std::function<bool(const std::string& parameters)>& is_wanted) const {
  const Place* where = place(place_key);
  if (where == nullptr) return std::nullopt;
  std::vector<const Entry*> timed;
  for (const Entry& entry : entries_)
    if (entry.place == where->number && entry.time_us > 0) timed.push_back(&entry);
  std::sort(timed.begin(), timed.end(), [](const Entry* a, const Entry* b) {
    return std::tie(a->time_us, a->id) < std::tie(b->time_us, b->id);
  });
  const auto fastest = std::find_if(
      timed.begin(), timed.end(), [&](const Entry* entry) { return is_wanted(read_(entry->id).parameters); });
  return fastest == timed.end() ? std::nullopt : std::optional((*fastest)->time_us);
}

std::string Recording::places_text() const {
  std::vector<std::string> texts;
  for (const auto& [key, place] : places_)
    if (!place.text.empty()) texts.push_back(place.text);
  std::sort(texts.begin(), texts.end());
  constexpr std::size_t kMost = 5;
  const std::size_t more = texts.size() > kMost ? texts.size() - kMost : 0;
  texts.resize(texts.size() - more);
  return join(texts, "; ") + (more > 0 ? fmt::format("; and {} more", more) : "");
}

TrialFilter filter_of(const RecordedSet& set) {
  TrialFilter filter;
  filter.gpus = {set.gpu};
  filter.sources = {set.source};
  filter.source_age = SourceAge::newest;
  return filter;
}

Recording read_recording(const Database& database, const RecordedSet& set) {
  Recording recording(set, SweepOrder(database), [&database](std::int64_t id) { return database.row(id); });
  const auto ranking = ranking_columns();
  std::vector<const char*> columns(ranking.begin(), ranking.end());
  columns.insert(columns.end(), {"compile_ms", "measure_ms"});
  database.for_each(filter_of(set), columns,
                    [&](std::int64_t id, const Trial& row) { recording.add(id, row); });
  recording.finish();
  // Whoever writes to the database may have marked the rows as being measured again since they were counted.
  if (recording.is_empty()) throw_no_rows(database.file().string());
  return recording;
}

RecordedTask::RecordedTask(const TuneSpec& spec, const Task& task, const Recording& recording,
                           const Target& target)
    : task_(&task),
      recording_(&recording),
      like_(make_task_trial(spec, task, target)),
      key_(recording.place_of(like_)),
      place_(recording.place(key_)) {
  if (place_ == nullptr) return;
  unknown_ = place_->names;
  const auto& parameters = task.spec->parameters;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const bool is_listed = std::erase(unknown_, parameters[i].name) > 0;
    if (is_listed) {
      listed_.push_back(i);
      values_.emplace_back(parameters[i].values);
    } else if (parameters[i].values.size() == 1) {
      granted_.emplace_back(parameters[i].name, parameters[i].values.front());
    } else {
      unlisted_.push_back(parameters[i].name);
    }
  }
}

const Recording::Entry* RecordedTask::find(std::uint64_t index) const {
  if (!is_joined()) return nullptr;
  Configuration configuration = task_->space.at(index);
  NamedValues listed;
  listed.reserve(listed_.size());
  for (const std::size_t i : listed_)
    listed.emplace_back(task_->spec->parameters[i].name, std::move(configuration.values[i]));
  return recording_->find(key_, to_json(listed).dump());
}

std::optional<double> RecordedTask::fastest_us() const {
  if (!is_joined()) return std::nullopt;
  return recording_->fastest_us(key_,
                                [this](const std::string& parameters) { return is_in_space(parameters); });
}

bool RecordedTask::is_in_space(const std::string& parameters) const {
  Configuration configuration;
  for (const Parameter& parameter : task_->spec->parameters)
    configuration.values.push_back(parameter.values.front());
  std::size_t known = 0;
  std::size_t members = 0;
  for_each_member(parameters, [&](std::string_view name, std::string_view written) {
    ++members;
    for (std::size_t i = 0; i < listed_.size(); ++i) {
      if (task_->spec->parameters[listed_[i]].name != name) continue;
      const Value* value = values_[i].find(written);
      if (value == nullptr) return;
      configuration.values[listed_[i]] = *value;
      ++known;
    }
  });
  return known == listed_.size() && members == known &&
         task_->space.index_of(configuration) < task_->space.size();
}

}  // namespace tiletune
