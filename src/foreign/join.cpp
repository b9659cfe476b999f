#include "foreign/join.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/hash.h"
#include "base/value.h"

namespace tiletune {

namespace {

using Names = std::vector<std::string>;

/// Rows of one GPU, by what the first of them lists.
struct Recording {
  std::string gpu;
  Names names;  ///< sorted
};

nlohmann::ordered_json parsed(const std::string& parameters) {
  return nlohmann::ordered_json::parse(parameters, nullptr, false);
}

Names sorted_names(const nlohmann::ordered_json& parameters) {
  Names names;
  for (const auto& item : parameters.items()) names.push_back(item.key());
  std::sort(names.begin(), names.end());
  return names;
}

TrialFilter filter_of(const std::string& gpu, const std::string& kernel, const std::string& problem) {
  TrialFilter filter;
  filter.gpus = {gpu};
  filter.templates = {kernel};
  filter.problems = {problem};
  filter.baselines = false;
  return filter;
}

std::vector<Recording> read_recordings(const Database& database, const std::string& kernel,
                                       const std::string& problem) {
  std::vector<Recording> recordings;
  for (const std::string& gpu : database.gpus()) {
    database.for_each(filter_of(gpu, kernel, problem), [&](const Trial& trial) {
      const auto parameters = parsed(trial.parameters);
      // The filter takes a part of a name for the whole.
      if (trial.gpu != gpu || !parameters.is_object()) return true;
      recordings.push_back({gpu, sorted_names(parameters)});
      return false;
    });
  }
  return recordings;
}

/// Calls `visit` with the parameters of each row of the recording.
template <typename Visit>
void for_each_row(const Database& database, const Recording& recording, const std::string& kernel,
                  const std::string& problem, const Visit& visit) {
  static constexpr std::array kColumns{"gpu", "parameters"};
  const auto filter = filter_of(recording.gpu, kernel, problem);
  database.for_each(filter, kColumns, [&](std::int64_t, const Trial& trial) {
    const auto parameters = parsed(trial.parameters);
    if (trial.gpu != recording.gpu || !parameters.is_object()) return;
    const auto has = [&](const std::string& name) { return parameters.contains(name); };
    if (std::all_of(recording.names.begin(), recording.names.end(), has)) visit(parameters);
  });
}

std::string values_text(const nlohmann::ordered_json& parameters, const Names& names) {
  std::string text;
  for (const std::string& name : names) {
    Value value;
    const auto& json = parameters.at(name);
    text += (text.empty() ? "" : " ") + name + "=" + (from_json(json, value) ? to_text(value) : json.dump());
  }
  return text;
}

Join join_of(const Database& database, const Recording& few, const Recording& many, const std::string& kernel,
             const std::string& problem) {
  Join join{few.gpu, many.gpu, few.names, {}, "", 0, 0, 0};
  std::set_difference(many.names.begin(), many.names.end(), few.names.begin(), few.names.end(),
                      std::back_inserter(join.missing));
  std::unordered_set<std::uint64_t> configurations;
  for_each_row(database, few, kernel, problem, [&](const auto& parameters) {
    configurations.insert(checksum64(values_text(parameters, few.names)));
  });
  join.configurations = configurations.size();
  std::map<std::string, std::unordered_set<std::uint64_t>> matches;  // by the missing parameters' values
  std::unordered_set<std::uint64_t> any;
  for_each_row(database, many, kernel, problem, [&](const auto& parameters) {
    const std::uint64_t shared = checksum64(values_text(parameters, few.names));
    if (!configurations.contains(shared)) return;
    any.insert(shared);
    matches[values_text(parameters, join.missing)].insert(shared);
  });
  join.matched_at_most = any.size();
  for (const auto& [values, found] : matches) {
    if (found.size() <= join.matched) continue;
    join.fixed = values;
    join.matched = found.size();
  }
  return join;
}

}  // namespace

std::vector<Join> find_joins(const Database& database, const std::string& kernel,
                             const std::string& problem) {
  const std::vector<Recording> recordings = read_recordings(database, kernel, problem);
  std::vector<Join> joins;
  for (const Recording& few : recordings) {
    for (const Recording& many : recordings) {
      const bool fewer =
          few.names.size() < many.names.size() &&
          std::includes(many.names.begin(), many.names.end(), few.names.begin(), few.names.end());
      if (fewer) joins.push_back(join_of(database, few, many, kernel, problem));
    }
  }
  return joins;
}

}  // namespace tiletune
