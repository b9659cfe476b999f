#include "rank/sides.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace tiletune {

namespace {

constexpr std::array<std::pair<std::string_view, CompareBy>, 6> kCompareBy{{
    {"gpu", CompareBy::gpu},
    {"driver", CompareBy::driver},
    {"date", CompareBy::date},
    {"sweep", CompareBy::sweep},
    {"source", CompareBy::source},
    {"database", CompareBy::database},
}};

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

bool contains(const std::string& text, const std::string& part) {
  return !part.empty() && text.find(part) != std::string::npos;
}

void append(Side& side, Side&& more) {
  for (RankingRows& rows : more.rows) side.rows.push_back(std::move(rows));
  for (const auto& [gpu, sources] : more.gpus) side.gpus[gpu].insert(sources.begin(), sources.end());
  side.drivers.merge(more.drivers);
}

}  // namespace

std::string_view name(CompareBy by) {
  return std::find_if(kCompareBy.begin(), kCompareBy.end(),
                      [&](const auto& entry) { return entry.second == by; })
      ->first;
}

std::optional<CompareBy> compare_by_from_name(std::string_view text) {
  for (const auto& [known, by] : kCompareBy) {
    if (known == text) return by;
  }
  return std::nullopt;
}

std::span<const char* const> compare_columns() {
  static const std::vector<const char*> columns = [] {
    const auto of_ranking = ranking_columns();
    std::vector<const char*> all(of_ranking.begin(), of_ranking.end());
    all.push_back("driver_version");
    all.push_back("reason");
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
  const GpuNames names(recorded, alias_);
  std::vector<Side> united;
  std::map<std::string, std::size_t> places;
  for (Side& side : sides_) {
    const std::vector<std::string>& meant = names.meant_by(side.name);
    const std::string& gpu = meant.size() == 1 ? meant.front() : side.name;
    const auto [place, is_new] = places.try_emplace(gpu, united.size());
    if (is_new) {
      united.push_back(std::move(side));
    } else {
      append(united[place->second], std::move(side));
    }
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
      const bool is_part =
          by_ == CompareBy::database ? contains(side.name, wanted) : side.name.starts_with(wanted);
      if (is_part && by_ != CompareBy::sweep) part.push_back(i);
    }
  }
  return whole.empty() ? part : whole;
}

void SideRows::throw_unknown(const std::string& name) const {
  std::string remedy = fmt::format("Recorded: {}.", recorded_.empty() ? "nothing" : join(recorded_, ", "));
  if (by_ == CompareBy::gpu) remedy += " For a GPU that has no rows, --predict CONFIG makes predictions.";
  throw UserError(fmt::format("no row is of the {} '{}'", tiletune::name(by_), name), remedy);
}

void SideRows::sort() {
  const auto by_number = [](const Side& a, const Side& b) { return numbers_in(a.name) < numbers_in(b.name); };
  const auto by_trust = [](const Side& a, const Side& b) {
    return from_name<Source>(a.name) < from_name<Source>(b.name);
  };
  if (by_ == CompareBy::source) std::stable_sort(sides_.begin(), sides_.end(), by_trust);
  if (by_ == CompareBy::driver || by_ == CompareBy::date || by_ == CompareBy::sweep)
    std::stable_sort(sides_.begin(), sides_.end(), by_number);
}

std::vector<Side> SideRows::take(const std::vector<std::string>& names) {
  places_.clear();
  if (by_ == CompareBy::gpu) unite_names_of_one_gpu();
  sort();
  for (const Side& side : sides_) recorded_.push_back(side.name);
  if (names.empty()) return std::move(sides_);
  std::vector<std::size_t> order;
  for (const std::string& name : names) {
    const auto found = asked_for(name);
    if (found.empty()) throw_unknown(name);
    for (const std::size_t place : found) {
      if (std::find(order.begin(), order.end(), place) == order.end()) order.push_back(place);
    }
  }
  std::vector<Side> taken;
  for (const std::size_t place : order) taken.push_back(std::move(sides_[place]));
  sides_.clear();
  return taken;
}

namespace {

bool disjoint(const std::set<Source>& a, const std::set<Source>& b) {
  return std::none_of(a.begin(), a.end(), [&](Source source) { return b.contains(source); });
}

}  // namespace

GpuNames::GpuNames(const std::map<std::string, std::set<Source>>& recorded, const GpuAlias& alias) {
  for (const auto& [name, sources] : recorded) {
    std::vector<std::string>& meant = meant_[name];
    if (alias(name) == name) {
      bool beside_all = true;
      for (const auto& [other, of_other] : recorded) {
        if (other == name || alias(other) != name) continue;
        meant.push_back(other);
        beside_all = beside_all && disjoint(sources, of_other);
      }
      if (!beside_all) meant.clear();
    }
    if (meant.empty()) meant.push_back(name);
  }
}

}  // namespace tiletune
