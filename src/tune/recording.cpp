#include "tune/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/error.h"
#include "base/hash.h"
#include "base/text.h"
#include "output/cell_text.h"
#include "store/filter.h"

namespace tiletune {

namespace {

/// JSON with its names in one order, whoever wrote it.
std::string canonical(const std::string& parameters) {
  const nlohmann::ordered_json json = parsed_cell(parameters);
  if (!json.is_object()) return parameters;
  return nlohmann::json(json).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

int preference(Source source) {
  constexpr std::array kOrder{Source::measured, Source::imported, Source::predicted};
  return static_cast<int>(std::find(kOrder.begin(), kOrder.end(), source) - kOrder.begin());
}

std::vector<std::string> gpus_of(const std::vector<RecordedSet>& sets) {
  std::vector<std::string> gpus;
  for (const RecordedSet& set : sets) {
    if (std::find(gpus.begin(), gpus.end(), set.gpu) == gpus.end()) gpus.push_back(set.gpu);
  }
  return gpus;
}

}  // namespace

std::vector<RecordedSet> recorded_sets(const Database& database) {
  static constexpr std::array kColumns{"gpu", "source", "kind", "outcome"};
  std::vector<RecordedSet> sets;
  TrialFilter filter;
  filter.sources = {Source::measured, Source::imported, Source::predicted};
  filter.baselines = false;
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
  const std::vector<std::string> all = gpus_of(sets);
  if (all.empty()) {
    throw UserError("holds no row that could be replayed", Where{file, ""},
                    "Record some with 'tiletune sweep' first.");
  }
  std::vector<std::string> matching = gpu.empty() ? all : matching_gpus(all, {gpu});
  const auto whole = std::find_if(matching.begin(), matching.end(),
                                  [&](const std::string& name) { return squashed(name) == squashed(gpu); });
  if (whole != matching.end()) matching = {*whole};
  if (matching.empty()) {
    throw UserError(fmt::format("{} holds no rows of a GPU '{}'", file, gpu), Where{"--gpu", ""},
                    fmt::format("It has {}.", join(all, ", ")));
  }
  if (matching.size() > 1) {
    throw UserError(fmt::format("{} holds rows of several such GPUs", file), Where{"--gpu", ""},
                    fmt::format("Name one of {}.", join(matching, ", ")));
  }
  const auto rank = [&](const RecordedSet& set) {
    return std::make_tuple(set.gpu != matching.front(), preference(set.source));
  };
  return *std::min_element(sets.begin(), sets.end(),
                           [&](const RecordedSet& a, const RecordedSet& b) { return rank(a) < rank(b); });
}

/// What was not timed by tiletune says nothing of the cache.
std::string Recording::place_text(const Trial& trial) const {
  std::string text;
  for (const std::string* part : {&trial.problem, &trial.operation, &trial.element_types, &trial.scalars})
    text.append(*part).append(1, '\0');
  return set_.source == Source::measured ? text + trial.cache : text;
}

std::array<std::uint64_t, 2> Recording::identity_of(const Trial& trial) const {
  return checksum128(place_text(trial) + '\0' + trial.template_name + '\0' + canonical(trial.parameters));
}

void Recording::add(std::int64_t id, const Trial& row) {
  const bool is_baseline = row.kind == "baseline";
  const bool is_kernel = row.kind == "kernel" && row.outcome != Outcome::dispatched;
  if ((!is_baseline && !is_kernel) || row.gpu != set_.gpu || row.source != set_.source) return;
  Entry entry;
  DatedRow& dated = entry;
  dated = {id, row, order_};
  const std::string place = place_text(row) + '\0' + (is_baseline ? "" : row.template_name);
  entry.place = places_.try_emplace(place, static_cast<std::uint32_t>(places_.size())).first->second;
  entry.identity = identity_of(row);
  entry.time_us = ranking_time_us(row).value_or(0);
  (is_baseline ? baselines_ : entries_).push_back(entry);
}

void Recording::finish() {
  const auto identity = [](const Entry& entry) { return std::tie(entry.identity); };
  keep_latest(entries_, identity);
  keep_latest(baselines_, identity);
}

std::optional<Trial> Recording::find(const Trial& candidate) const {
  const auto identity = identity_of(candidate);
  const auto found =
      std::lower_bound(entries_.begin(), entries_.end(), identity,
                       [](const Entry& entry, const auto& wanted) { return entry.identity < wanted; });
  if (found == entries_.end() || found->identity != identity) return std::nullopt;
  return read_(found->id);
}

std::vector<Trial> Recording::baselines(const Trial& like) const {
  std::vector<Trial> rows;
  const auto place = places_.find(place_text(like) + '\0');
  for (const Entry& entry : baselines_) {
    if (place != places_.end() && entry.place == place->second) rows.push_back(read_(entry.id));
  }
  return rows;
}

std::uint64_t Recording::count(const Trial& like) const {
  const auto place = places_.find(place_text(like) + '\0' + like.template_name);
  if (place == places_.end()) return 0;
  return static_cast<std::uint64_t>(std::count_if(
      entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.place == place->second; }));
}

std::optional<double> Recording::fastest_us(
    const Trial& like, const std::function<bool(const std::string& parameters)>& is_wanted) const {
  const auto place = places_.find(place_text(like) + '\0' + like.template_name);
  if (place == places_.end()) return std::nullopt;
  std::vector<const Entry*> timed;
  for (const Entry& entry : entries_) {
    if (entry.place == place->second && entry.time_us > 0) timed.push_back(&entry);
  }
  std::sort(timed.begin(), timed.end(), [](const Entry* a, const Entry* b) {
    return std::tie(a->time_us, a->id) < std::tie(b->time_us, b->id);
  });
  const auto fastest = std::find_if(
      timed.begin(), timed.end(), [&](const Entry* entry) { return is_wanted(read_(entry->id).parameters); });
  return fastest == timed.end() ? std::nullopt : std::optional((*fastest)->time_us);
}

Trial Recording::sample() const { return read_(entries_.front().id); }

Recording read_recording(const Database& database, const RecordedSet& set) {
  Recording recording(set, SweepOrder(database), [&database](std::int64_t id) { return database.row(id); });
  TrialFilter filter;
  filter.gpus = {set.gpu};
  filter.sources = {set.source};
  database.for_each(filter, ranking_columns(),
                    [&](std::int64_t id, const Trial& row) { recording.add(id, row); });
  recording.finish();
  return recording;
}

}  // namespace tiletune
