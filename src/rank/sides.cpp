#include "rank/sides.h"

#include <fmt/format.h>

#include <charconv>

#include "base/text.h"

namespace tiletune {

namespace {

/// "580.95.05" as {580, 95, 5}: versions order by their numbers.
std::vector<std::uint64_t> numbers_in(const std::string& text) {
  std::vector<std::uint64_t> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at != end) {
    std::uint64_t number = 0;
    const auto [rest, error] = std::from_chars(at, end, number);
    if (error == std::errc()) numbers.push_back(number);
    at = error == std::errc::invalid_argument ? at + 1 : rest;
  }
  return numbers;
}

}  // namespace

std::span<const char* const> compare_columns() {
  static const std::vector<const char*> columns = [] {
    const auto of_ranking = ranking_columns();
    std::vector<const char*> all(of_ranking.begin(), of_ranking.end());
    all.insert(all.end(), {"driver_version", "reason", "mean_us", "min_us", "stddev_us", "sample_count"});
    return all;
  }();
  return columns;
}

SideRows::SideRows(CompareBy by, std::vector<std::string> databases, GpuAlias alias)
    : by_(by), databases_(std::move(databases)), alias_(std::move(alias)) {}

std::string SideRows::name_of(std::size_t database, const Trial& trial) const {
  constexpr std::size_t kLengthOfDate = 10;
  switch (by_) {
    case CompareBy::gpu:
      return trial.gpu;
    case CompareBy::driver:
      return trial.driver_version;
    case CompareBy::date:
      return trial.recorded_at.substr(0, kLengthOfDate);
    case CompareBy::sweep:
      return trial.sweep_id == 0 ? "" : std::to_string(trial.sweep_id);
    case CompareBy::source:
      return std::string(tiletune::name(trial.source));
    case CompareBy::database:
      return databases_.at(database);
  }
  return "";
}

Side& SideRows::side_of(const std::string& name) {
  const auto known = places_.find(name);
  if (known != places_.end()) return sides_[known->second];
  places_.emplace(name, sides_.size());
  Side& side = sides_.emplace_back();
  side.name = name;
  side.alias = by_ == CompareBy::gpu ? alias_(name) : name;
  side.rows.emplace_back();
  return side;
}

void SideRows::add(std::size_t database, std::int64_t id, Trial& trial) {
  const std::string name = name_of(database, trial);
  if (name.empty()) return;
  Side& side = side_of(name);
  side.gpus[trial.gpu].insert(trial.source);
  if (!trial.driver_version.empty()) side.drivers.insert(trial.driver_version);
  if (trial.outcome == Outcome::screened_out && trial.median_us) {
    side.rows.front().add_screened(id, trial);
  } else {
    side.rows.front().add(id, trial);
  }
}

void SideRows::unite_names_of_one_gpu() {
  std::map<std::string, std::set<Source>> recorded;
  for (const Side& side : sides_) recorded.insert(side.gpus.begin(), side.gpus.end());
  const auto names = meant_gpus(recorded, alias_);
  std::vector<Side> united;
  std::map<std::string, std::size_t> places;
  for (Side& side : sides_) {
    const std::vector<std::string>& meant = names.at(side.name);
    const std::string& gpu = meant.size() == 1 ? meant.front() : side.name;
    const auto [place, is_new] = places.try_emplace(gpu, united.size());
    if (is_new) {
      united.push_back(std::move(side));
      continue;
    }
    Side& whole = united[place->second];
    std::ranges::move(side.rows, std::back_inserter(whole.rows));
    for (const auto& [name, sources] : side.gpus) whole.gpus[name].insert(sources.begin(), sources.end());
    whole.drivers.merge(side.drivers);
  }
  sides_ = std::move(united);
}

std::vector<std::size_t> SideRows::asked_for(const std::string& name) const {
  const std::string wanted = by_ == CompareBy::gpu ? squashed(name) : name;
  std::vector<std::size_t> whole;
  std::vector<std::size_t> part;
  for (std::size_t i = 0; i < sides_.size(); ++i) {
    const Side& side = sides_[i];
    if (by_ == CompareBy::gpu) {
      const std::string recorded = squashed(side.name);
      const std::string model = squashed(side.alias);
      if (recorded == wanted || model == wanted) whole.push_back(i);
      if (has_words(side.name, name) || has_words(side.alias, name)) part.push_back(i);
    } else {
      if (side.name == wanted) whole.push_back(i);
      const bool is_part = by_ == CompareBy::database
                               ? !wanted.empty() && side.name.find(wanted) != side.name.npos
                               : side.name.starts_with(wanted);
      if (is_part && by_ != CompareBy::sweep) part.push_back(i);
    }
  }
  return whole.empty() ? part : whole;
}

std::vector<Side> SideRows::take(const std::vector<std::string>& names) {
  places_.clear();
  if (by_ == CompareBy::gpu) unite_names_of_one_gpu();
  if (by_ == CompareBy::source)
    std::ranges::stable_sort(sides_, {}, [](const Side& side) { return from_name<Source>(side.name); });
  if (by_ == CompareBy::driver || by_ == CompareBy::date || by_ == CompareBy::sweep)
    std::ranges::stable_sort(sides_, {}, [](const Side& side) { return numbers_in(side.name); });
  for (const Side& side : sides_) recorded_.push_back(side.name);
  if (names.empty()) return std::move(sides_);
  std::vector<std::size_t> order;
  for (const std::string& name : names) {
    const auto found = asked_for(name);
    if (found.empty()) {
      std::string remedy =
          fmt::format("Recorded: {}.", recorded_.empty() ? "nothing" : join(recorded_, ", "));
      if (by_ == CompareBy::gpu) remedy += " For a GPU that has no rows, --predict CONFIG makes predictions.";
      throw UserError(fmt::format("no row is of the {} '{}'", tiletune::name(by_), name), remedy);
    }
    for (const std::size_t place : found)
      if (std::find(order.begin(), order.end(), place) == order.end()) order.push_back(place);
  }
  std::vector<Side> taken;
  for (const std::size_t place : order) taken.push_back(std::move(sides_[place]));
  sides_.clear();
  return taken;
}

std::map<std::string, std::vector<std::string>> meant_gpus(
    const std::map<std::string, std::set<Source>>& recorded, const GpuAlias& alias) {
  std::map<std::string, std::vector<std::string>> all;
  for (const auto& [name, sources] : recorded) {
    std::vector<std::string>& meant = all[name];
    bool beside_all = true;
    for (const auto& [other, of_other] : recorded) {
      if (alias(name) != name || other == name || alias(other) != name) continue;
      meant.push_back(other);
      beside_all =
          beside_all && std::ranges::none_of(sources, [&](Source s) { return of_other.contains(s); });
    }
    if (meant.empty() || !beside_all) meant = {name};
  }
  return all;
}

}  // namespace tiletune
