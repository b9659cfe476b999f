#include "store/filter.h"

#include <algorithm>

#include "base/text.h"

namespace tiletune {

namespace {

constexpr const char* kOrBaseline = " OR kind = 'baseline'";

class Builder {
 public:
  void one_of(const char* column, const std::vector<std::string>& values, const char* alternative = "") {
    const std::vector<std::string> marks(values.size(), "?");
    add(std::string("(\"") + column + "\" IN (" + join(marks, ", ") + ")" + alternative + ")");
    for (const std::string& value : values) condition_.values.emplace_back(value);
  }

  template <typename Enum>
  void one_of(const char* column, const std::vector<Enum>& values) {
    std::vector<std::string> names;
    names.reserve(values.size());
    for (const Enum value : values) names.emplace_back(name(value));
    one_of(column, names);
  }

  void one_of_problems(const std::vector<std::string>& problems, const std::vector<StatedProblem>& stated) {
    std::vector<std::string> terms(problems.size(), "problem = ?");
    for (const std::string& problem : problems) condition_.values.emplace_back(problem);
    for (const StatedProblem& one : stated) {
      terms.emplace_back("(problem = ? AND ifnull(options, '') = ? AND ifnull(element_types, '') = ?)");
      for (const std::string& value : {one.problem, one.options, one.element_types})
        condition_.values.emplace_back(value);
    }
    if (!terms.empty()) add("(" + join(terms, " OR ") + ")");
  }

  void equals(const char* column, Cell value) {
    add(std::string("\"") + column + "\" = ?");
    condition_.values.push_back(std::move(value));
  }

  void made_or_reused_by(std::int64_t sweep_id) {
    add("id IN (SELECT trial_id FROM sweep_trial WHERE sweep_id = ?)");
    condition_.values.emplace_back(sweep_id);
  }

  /// Rows of these sources (store/earlier_sources.h), or all others.
  void of_sources(const std::string& sources, bool are_wanted) {
    if (sources.empty()) return add(are_wanted ? "false" : "true");
    add(std::string(are_wanted ? "" : "NOT ") +
        "((\"template\", source_hash) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') "
        "FROM json_each(?, '$.texts')) OR (\"template\", source_hash, ifnull(included_files, '')) IN (SELECT "
        "json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') "
        "FROM json_each(?, '$.files')))");
    condition_.values.emplace_back(sources);
    condition_.values.emplace_back(sources);
  }

  Condition take() { return std::move(condition_); }

 private:
  void add(const std::string& term) {
    condition_.sql += (condition_.sql.empty() ? " WHERE " : " AND ") + term;
  }
  Condition condition_;
};

}  // namespace

Condition condition_of(const TrialFilter& filter, const std::vector<std::string>& gpus,
                       const std::string& earlier) {
  Builder builder;
  if (!filter.gpus.empty()) builder.one_of("gpu", gpus);
  // Baselines belong to every template's comparison.
  if (!filter.templates.empty())
    builder.one_of("template", filter.templates, filter.baselines ? kOrBaseline : "");
  builder.one_of_problems(filter.problems, filter.stated_problems);
  if (!filter.outcomes.empty()) builder.one_of("outcome", filter.outcomes);
  if (!filter.sources.empty()) builder.one_of("source", filter.sources);
  if (!filter.kinds.empty()) builder.one_of("kind", filter.kinds);
  if (filter.sweep_id) builder.made_or_reused_by(*filter.sweep_id);
  if (!filter.baselines) builder.equals("kind", std::string("kernel"));
  if (filter.source_age != SourceAge::any)
    builder.of_sources(earlier, filter.source_age == SourceAge::earlier);
  return builder.take();
}

std::vector<std::string> matching_gpus(const std::vector<std::string>& names,
                                       const std::vector<std::string>& wanted) {
  std::vector<std::string> matching;
  for (const std::string& name : names) {
    const bool matches = std::any_of(wanted.begin(), wanted.end(), [&](const std::string& part) {
      return name == part || has_words(name, part);
    });
    if (matches) matching.push_back(name);
  }
  return matching;
}

}  // namespace tiletune
