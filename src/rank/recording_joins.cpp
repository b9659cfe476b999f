#include "rank/recording_joins.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "base/value.h"
#include "rank/parameters.h"

namespace tiletune {

namespace {

/// Of parameters, as they are written in JSON.
using Names = std::set<std::string, std::less<>>;
using Hashes = std::vector<std::uint64_t>;

template <typename Element>
void sort_once(std::vector<Element>& elements) {
  std::sort(elements.begin(), elements.end());
  elements.erase(std::unique(elements.begin(), elements.end()), elements.end());
}

/// Rows of one GPU, by what the first of them lists.
struct Recording {
  std::string gpu;
  std::string listed;  ///< the names in its order
  Names names;
};

nlohmann::ordered_json parsed(const std::string& json) {
  return nlohmann::ordered_json::parse(json, nullptr, false);
}

std::string unescaped(const std::string& name) {
  const auto text = parsed('"' + name + '"');
  return text.is_string() ? text.get<std::string>() : name;
}

std::vector<std::string> shown(const Names& names) {
  std::vector<std::string> texts;
  std::transform(names.begin(), names.end(), std::back_inserter(texts), unescaped);
  return texts;
}

Names names_of(const std::string& listed) {
  const std::vector<std::string> lines = split(listed, '\n');
  return {lines.begin(), std::prev(lines.end())};  // nothing is behind the last
}

TrialFilter filter_of(const std::string& kernel, const std::string& problem) {
  TrialFilter filter;
  filter.templates = {kernel};
  filter.problems = {problem};
  filter.baselines = false;
  return filter;
}

std::vector<Recording> read_recordings(const Database& database, const TrialFilter& filter) {
  std::vector<Recording> recordings;
  for (const std::string& gpu : database.gpus()) {
    TrialFilter of_gpu = filter;
    of_gpu.gpus = {gpu};
    database.for_each(of_gpu, [&](const Trial& trial) {
      // The filter takes a part of a name for the whole.
      if (trial.gpu != gpu || !parsed(trial.parameters).is_object()) return true;
      Recording& recording = recordings.emplace_back(Recording{gpu, "", {}});
      append_member_names(trial.parameters, recording.listed);
      recording.names = names_of(recording.listed);
      return false;
    });
  }
  return recordings;
}

std::string values_text(const std::string& parameters, const Names& names) {
  auto object = parsed(parameters);
  if (!object.is_object()) object = nlohmann::ordered_json::object();  // a stranger's database
  std::string text;
  for (const std::string& name : shown(names)) {
    Value value;
    const auto json = object.value(name, nlohmann::ordered_json());
    text += (text.empty() ? "" : " ") + name + "=" + (from_json(json, value) ? to_text(value) : json.dump());
  }
  return text;
}

std::uint64_t hash_of(const std::string& parameters, const Names& names) {
  return identity_by("", parameters, names)[0];
}

/// A join while it is looked for.
struct Candidate {
  const Recording* few;
  const Recording* many;
  Names missing = {};
  /// Rows of `many`: what stands for the missing parameters' values, and for those that are shared.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> matches = {};
  std::unordered_map<std::uint64_t, std::string> values = {};  ///< of the missing parameters

  void match(std::uint64_t shared, const std::string& parameters) {
    const std::uint64_t others = hash_of(parameters, missing);
    matches.emplace_back(others, shared);
    const auto [place, is_new] = values.try_emplace(others);
    if (is_new) place->second = values_text(parameters, missing);
  }

  Join join(std::size_t configurations) {
    Join join{few->gpu, many->gpu, shown(few->names), shown(missing), "", configurations, 0, 0};
    sort_once(matches);
    Hashes any;
    for (auto first = matches.cbegin(); first != matches.cend();) {
      const auto last =
          std::find_if(first, matches.cend(), [&](const auto& found) { return found.first != first->first; });
      const auto count = static_cast<std::uint64_t>(last - first);
      const std::string& text = values.at(first->first);
      if (count > join.matched || (count == join.matched && text < join.fixed)) {
        join.matched = count;
        join.fixed = text;
      }
      for (; first != last; ++first) any.push_back(first->second);
    }
    sort_once(any);
    join.matched_at_most = any.size();
    return join;
  }
};

/// Reads the rows of all recordings twice, however many pairs of them there are.
class JoinFinder {
 public:
  JoinFinder(const Database& database, const std::string& kernel, const std::string& problem)
      : database_(database),
        filter_(filter_of(kernel, problem)),
        recordings_(read_recordings(database, filter_)) {}

  std::vector<Join> run(const std::set<std::string>& gpus) {
    list_candidates(gpus);
    if (candidates_.empty()) return {};
    for (Candidate& candidate : candidates_) {
      configurations_[candidate.few];
      of_many_[candidate.many][candidate.few->names].push_back(&candidate);
    }
    for_each_row(configurations_, [](const Names& names, const std::string& parameters, Hashes& all) {
      all.push_back(hash_of(parameters, names));
    });
    for (auto& [recording, all] : configurations_) sort_once(all);
    for_each_row(of_many_, [&](const Names& /*names*/, const std::string& parameters, const auto& by_names) {
      for (const auto& [shared, candidates] : by_names) match(parameters, shared, candidates);
    });
    std::vector<Join> joins;
    for (Candidate& candidate : candidates_)
      joins.push_back(candidate.join(configurations_[candidate.few].size()));
    return joins;
  }

 private:
  void list_candidates(const std::set<std::string>& gpus) {
    for (const Recording& few : recordings_) {
      for (const Recording& many : recordings_) {
        const bool fewer =
            few.names.size() < many.names.size() &&
            std::includes(many.names.begin(), many.names.end(), few.names.begin(), few.names.end());
        if (!fewer || (!gpus.contains(few.gpu) && !gpus.contains(many.gpu))) continue;
        Candidate& candidate = candidates_.emplace_back(Candidate{&few, &many});
        std::set_difference(many.names.begin(), many.names.end(), few.names.begin(), few.names.end(),
                            std::inserter(candidate.missing, candidate.missing.end()));
      }
    }
  }

  /// Calls `visit` with what is kept of a recording for each of its rows that lists what its first one does.
  template <typename Kept, typename Visit>
  void for_each_row(std::map<const Recording*, Kept>& kept, const Visit& visit) const {
    static constexpr std::array kColumns{"gpu", "parameters"};
    std::string listed;
    database_.for_each(filter_, kColumns, [&](std::int64_t, const Trial& trial) {
      const auto of_gpu = std::find_if(kept.begin(), kept.end(),
                                       [&](const auto& entry) { return entry.first->gpu == trial.gpu; });
      if (of_gpu == kept.end()) return;
      const Recording& recording = *of_gpu->first;
      listed.clear();
      append_member_names(trial.parameters, listed);
      if (listed != recording.listed) {
        const Names names = names_of(listed);
        if (!std::includes(names.begin(), names.end(), recording.names.begin(), recording.names.end()))
          return;
      }
      visit(recording.names, trial.parameters, of_gpu->second);
    });
  }

  void match(const std::string& parameters, const Names& names, const std::vector<Candidate*>& candidates) {
    const std::uint64_t shared = hash_of(parameters, names);
    for (Candidate* candidate : candidates) {
      const Hashes& wanted = configurations_[candidate->few];
      if (std::binary_search(wanted.begin(), wanted.end(), shared)) candidate->match(shared, parameters);
    }
  }

  const Database& database_;
  TrialFilter filter_;
  std::vector<Recording> recordings_;
  std::vector<Candidate> candidates_;
  std::map<const Recording*, Hashes> configurations_;                             ///< of those with fewer
  std::map<const Recording*, std::map<Names, std::vector<Candidate*>>> of_many_;  ///< by what is shared
};

}  // namespace

std::vector<Join> find_joins(const Database& database, const std::string& kernel, const std::string& problem,
                             const std::set<std::string>& gpus) {
  return JoinFinder(database, kernel, problem).run(gpus);
}

}  // namespace tiletune
