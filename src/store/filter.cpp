#include "store/filter.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/text.h"
#include "store/schema.h"

namespace tiletune {

namespace {

class Builder {
 public:
  void add(const std::string& term, const std::vector<Cell>& values = {}) {
    condition.sql += (condition.sql.empty() ? " WHERE " : " AND ") + term;
    condition.values.insert(condition.values.end(), values.begin(), values.end());
  }

  template <typename T>
  void one_of(const char* column, const std::vector<T>& values, const char* alternative = "") {
    std::vector<Cell> cells;
    for (const T& value : values) {
      if constexpr (Spelled<T>)
        cells.emplace_back(std::string(name(value)));
      else
        cells.emplace_back(value);
    }
    add(fmt::format("(\"{}\" IN ({}){})", column, marks(values.size()), alternative), cells);
  }

  Condition condition;
};

/// Whether a row is of these sources (earlier_sources()).
constexpr const char* kOfSources =
    "((\"template\", source_hash) IN (SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') "
    "FROM json_each(?, '$.texts')) OR (\"template\", source_hash, ifnull(included_files, '')) IN (SELECT "
    "json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') "
    "FROM json_each(?, '$.files')))";

}  // namespace

Condition condition_of(const TrialFilter& filter, const std::vector<std::string>& gpus,
                       const std::string& earlier, const std::string& skipped) {
  Builder builder;
  if (!filter.gpus.empty()) builder.one_of("gpu", gpus);
  // Baselines belong to every template's comparison.
  if (!filter.templates.empty())
    builder.one_of("template", filter.templates, filter.baselines ? " OR kind = 'baseline'" : "");
  std::vector<std::string> problems(filter.problems.size(), "problem = ?");
  std::vector<Cell> values(filter.problems.begin(), filter.problems.end());
  for (const StatedProblem& one : filter.stated_problems) {
    problems.emplace_back("(problem = ? AND ifnull(options, '') = ? AND ifnull(element_types, '') = ?)");
    values.insert(values.end(), {one.problem, one.options, one.element_types});
  }
  if (!problems.empty()) builder.add("(" + join(problems, " OR ") + ")", values);
  if (!filter.outcomes.empty()) builder.one_of("outcome", filter.outcomes);
  if (!filter.sources.empty()) builder.one_of("source", filter.sources);
  if (!filter.kinds.empty()) builder.one_of("kind", filter.kinds);
  if (filter.sweep_id)
    builder.add("id IN (SELECT trial_id FROM sweep_trial WHERE sweep_id = ?)", {*filter.sweep_id});
  if (!filter.baselines) builder.add("kind = 'kernel'");
  if (!skipped.empty()) builder.add("id NOT IN (SELECT value FROM json_each(?))", {skipped});
  const bool are_wanted = filter.source_age == SourceAge::earlier;
  if (filter.source_age != SourceAge::any && earlier.empty()) {
    builder.add(are_wanted ? "false" : "true");
  } else if (filter.source_age != SourceAge::any) {
    builder.add(std::string(are_wanted ? "" : "NOT ") + kOfSources, {earlier, earlier});
  }
  return std::move(builder.condition);
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
  std::string hash_now = {};                                ///< empty: not known
  std::map<std::string, std::set<std::string>> files = {};  ///< contents by name
};

/// The sources of all rows, each with the last time of a row of it. Rows that follow each other mostly share
/// one.
std::map<RowSource, std::string> sources_of_rows(SQLite::Database& database) {
  std::map<RowSource, std::string> sources;
  auto last = sources.end();
  SQLite::Statement rows(
      database,
      "SELECT \"template\", source_hash, ifnull(included_files, ''), ifnull(seen_in_sweep, 0), "
      "trial.recorded_at, ifnull(started_at, '') FROM trial NOT INDEXED LEFT JOIN sweep ON sweep.id = "
      "seen_in_sweep "
      "WHERE source_hash <> ''");
  while (rows.executeStep()) {
    const auto text = [&](int column) { return std::string_view(rows.getColumn(column).getText()); };
    const std::int64_t sweep = rows.getColumn(3).getInt64();
    const bool is_last = last != sources.end() && last->first.sweep.second == sweep &&
                         last->first.template_name == text(0) && last->first.hash == text(1) &&
                         last->first.files == text(2);
    if (!is_last) {
      RowSource source{
          std::string(text(0)), std::string(text(1)), std::string(text(2)), {std::string(text(5)), sweep}};
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

std::map<std::string, NewestSource> newest_sources(const std::map<RowSource, std::string>& sources,
                                                   const SourceNow& source_now) {
  std::map<std::string, NewestSource> newest;
  for (const auto& [source, recorded_at] : sources) {
    const NewestSource one{source.sweep, recorded_at, source.hash};
    const auto [found, is_new] = newest.try_emplace(source.template_name, one);
    NewestSource& so_far = found->second;
    if (is_new && source_now) so_far.hash_now = source_now(source.template_name);
    const auto age = [&now = so_far.hash_now](const NewestSource& of) {
      return std::make_tuple(of.hash == now, of.sweep, of.recorded_at);
    };
    if (age(so_far) < age(one)) so_far = {one.sweep, one.recorded_at, one.hash, so_far.hash_now};
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

}  // namespace

std::string earlier_sources(SQLite::Database& database, const SourceNow& source_now) {
  if (database.execAndGet("SELECT EXISTS (SELECT 1 FROM trial WHERE source_hash <> '')").getInt() == 0)
    return "";
  const std::map<RowSource, std::string> sources = sources_of_rows(database);
  const std::map<std::string, NewestSource> newest = newest_sources(sources, source_now);
  std::set<std::vector<std::string>> texts;
  std::set<std::vector<std::string>> files;
  for (const auto& [source, recorded_at] : sources) {
    const NewestSource& of_template = newest.at(source.template_name);
    if (source.hash != of_template.hash) {
      texts.insert({source.template_name, source.hash});
      continue;
    }
    bool differs = false;
    for_each_file(source.files, [&](const std::string& name, const std::string& hash) {
      const auto found = of_template.files.find(name);
      differs = differs || (found != of_template.files.end() && !found->second.contains(hash));
    });
    if (differs) files.insert({source.template_name, source.hash, source.files});
  }
  std::set<std::string> edited;
  for (const auto& [name, source] : newest)
    if (!source.hash_now.empty() && source.hash != source.hash_now) edited.insert(name);
  if (texts.empty() && files.empty() && edited.empty()) return "";
  return Json{{"edited", edited}, {"texts", texts}, {"files", files}}.dump(-1, ' ', false,
                                                                           Json::error_handler_t::replace);
}

}  // namespace tiletune
