#include "store/filter.h"

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

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

  /// Rows of these sources (earlier_sources()), or all others.
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

namespace {

using Json = nlohmann::json;

/// When a sweep began, and its number.
using SweepTime = std::pair<std::string, std::int64_t>;

/// What rows of one sweep and one source have in common.
struct RowSource {
  std::string template_name, hash, files;
  SweepTime sweep;

  auto operator<=>(const RowSource&) const = default;
};

/// The source of a template, from the rows of its newest sweep.
struct NewestSource {
  SweepTime sweep;
  std::string recorded_at, hash;
  std::map<std::string, std::set<std::string>> files = {};  ///< contents by name

  bool is_older_than(const SweepTime& other, const std::string& at) const {
    return std::tie(sweep, recorded_at) < std::tie(other, at);
  }
};

std::map<std::int64_t, std::string> beginnings_of_sweeps(SQLite::Database& database) {
  std::map<std::int64_t, std::string> beginnings;
  SQLite::Statement sweeps(database, "SELECT id, started_at FROM sweep");
  while (sweeps.executeStep())
    beginnings.emplace(sweeps.getColumn(0).getInt64(), sweeps.getColumn(1).getString());
  return beginnings;
}

/// The sources of all rows, each with the last time of a row of it. Rows that follow each other mostly share
/// one.
std::map<RowSource, std::string> sources_of_rows(SQLite::Database& database) {
  const std::map<std::int64_t, std::string> beginnings = beginnings_of_sweeps(database);
  std::map<RowSource, std::string> sources;
  auto last = sources.end();
  SQLite::Statement rows(
      database,
      "SELECT \"template\", source_hash, ifnull(included_files, ''), "
      "ifnull(seen_in_sweep, 0), recorded_at FROM trial NOT INDEXED WHERE source_hash <> ''");
  while (rows.executeStep()) {
    const auto text = [&](int column) { return std::string_view(rows.getColumn(column).getText()); };
    const std::int64_t sweep = rows.getColumn(3).getInt64();
    const bool is_last = last != sources.end() && last->first.sweep.second == sweep &&
                         last->first.template_name == text(0) && last->first.hash == text(1) &&
                         last->first.files == text(2);
    if (!is_last) {
      const auto began = beginnings.find(sweep);
      RowSource source{std::string(text(0)),
                       std::string(text(1)),
                       std::string(text(2)),
                       {began == beginnings.end() ? "" : began->second, sweep}};
      last = sources.try_emplace(std::move(source)).first;
    }
    if (last->second < text(4)) last->second = text(4);
  }
  return sources;
}

/// `visit` takes each file and the hash of its content. Of a list that is too long for a row, the row has one
/// hash of all, which says nothing about a file.
void for_each_file(const std::string& files,
                   const std::function<void(const std::string& name, const std::string& hash)>& visit) {
  const Json list = Json::parse(files, nullptr, false);
  if (!list.is_object()) return;
  for (const auto& [name, hash] : list.items())
    if (hash.is_string() && !name.starts_with('<')) visit(name, hash.get<std::string>());
}

std::map<std::string, NewestSource> newest_sources(const std::map<RowSource, std::string>& sources) {
  std::map<std::string, NewestSource> newest;
  for (const auto& [source, recorded_at] : sources) {
    const auto [found, is_new] =
        newest.try_emplace(source.template_name, NewestSource{source.sweep, recorded_at, source.hash});
    if (!is_new && found->second.is_older_than(source.sweep, recorded_at))
      found->second = {source.sweep, recorded_at, source.hash};
  }
  for (const auto& [source, recorded_at] : sources) {
    NewestSource& of_template = newest.at(source.template_name);
    if (source.sweep != of_template.sweep || source.hash != of_template.hash) continue;
    for_each_file(source.files, [&](const std::string& name, const std::string& hash) {
      of_template.files[name].insert(hash);
    });
  }
  return newest;
}

bool has_other_files(const RowSource& source, const NewestSource& newest) {
  bool differs = false;
  for_each_file(source.files, [&](const std::string& name, const std::string& hash) {
    const auto found = newest.files.find(name);
    differs = differs || (found != newest.files.end() && !found->second.contains(hash));
  });
  return differs;
}

}  // namespace

std::string earlier_sources(SQLite::Database& database) {
  if (database.execAndGet("SELECT EXISTS (SELECT 1 FROM trial WHERE source_hash <> '')").getInt() == 0)
    return "";
  const std::map<RowSource, std::string> sources = sources_of_rows(database);
  const std::map<std::string, NewestSource> newest = newest_sources(sources);
  std::set<std::vector<std::string>> texts;
  std::set<std::vector<std::string>> files;
  for (const auto& [source, recorded_at] : sources) {
    const NewestSource& of_template = newest.at(source.template_name);
    if (source.hash != of_template.hash) {
      texts.insert({source.template_name, source.hash});
    } else if (has_other_files(source, of_template)) {
      files.insert({source.template_name, source.hash, source.files});
    }
  }
  if (texts.empty() && files.empty()) return "";
  return Json{{"texts", texts}, {"files", files}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tiletune
