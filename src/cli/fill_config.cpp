#include "cli/fill_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/value.h"
#include "output/comparison.h"
#include "rank/parameters.h"
#include "space/space.h"
#include "spec/load.h"
#include "spec/operation.h"
#include "spec/problem.h"
#include "tune/row.h"
#include "tune/task.h"

namespace tiletune {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// By problem's label and entry of a config's templates, as JSON, the parameters of the configurations that
/// are lacking there.
using Lacking = std::map<std::string, std::map<std::string, std::set<std::string>>>;

/// What one config is for.
struct Purpose {
  std::size_t side = 0;
  std::string gpu;  ///< that it is to be measured on
  std::string scalars;
  std::string cache;
  auto operator<=>(const Purpose&) const = default;
};

/// In the order of the alphabet a template's name is a fixed place.
std::set<std::string> entries_of(const Lacking& lacking) {
  std::set<std::string> entries;
  for (const auto& [problem, kernels] : lacking) {
    for (const auto& kernel : kernels) entries.insert(kernel.first);
  }
  return entries;
}

Json json_of(const Choices& choices) {
  Json object = Json::object();
  for (const auto& [name, text] : choices) object[name] = text;
  return object;
}

std::string literal(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return to_text(value);
  const char quote = text->find('\'') == std::string::npos ? '\'' : '"';
  return quote + *text + quote;
}

std::string term(const std::string& name, const Value& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? name : "not " + name;
  return fmt::format("{} == {}", name, literal(value));
}

/// A recording of another tool may write true where the template has 1.
const Value* value_in(const TemplateSpec& kernel, const std::string& name, const Json& recorded) {
  for (const Parameter& parameter : kernel.parameters) {
    if (parameter.name == name) return find_value(parameter.values, recorded.dump());
  }
  return nullptr;
}

/// As the template writes them; what it does not have stays as it is.
NamedValues values_of(const std::string& parameters, const TemplateSpec& kernel) {
  NamedValues values;
  const Json object = parse_json(parameters, "parameters");
  for (const auto& [name, json] : object.items()) {
    Value value;
    if (const Value* known = value_in(kernel, name, json))
      value = *known;
    else if (!from_json(json, value))
      throw UserError(fmt::format("the parameter {} of a recorded row has no plain value", name),
                      "No config can name it.");
    values.emplace_back(name, value);
  }
  return values;
}

/// True of this problem alone.
std::string condition_of(const Problem& problem) {
  std::vector<std::string> terms;
  for (const auto& [name, size] : problem.dimensions) terms.push_back(fmt::format("{} == {}", name, size));
  for (const auto& [name, elements] : problem.leading)
    terms.push_back(fmt::format("{} == {}", name, elements));
  return join(terms, " and ");
}

/// Admits the given configurations on the problem and says nothing of others.
std::string requirement(const Problem& problem, const std::vector<NamedValues>& configurations) {
  std::string text = fmt::format("not ({})", condition_of(problem));
  for (const NamedValues& configuration : configurations) {
    std::vector<std::string> terms;
    for (const auto& [name, value] : configuration) terms.push_back(term(name, value));
    text += terms.empty() ? " or 1 == 1" : fmt::format(" or ({})", join(terms, " and "));
  }
  return text;
}

class FillWriter {
 public:
  explicit FillWriter(const fs::path& file) {
    const fs::path absolute = fs::absolute(file);
    options_.template_folders = {absolute.parent_path(), home_folder() / "kernel_templates"};
  }

  /// The entry of a config's templates, as JSON, for the template and variant of a row. Throws UserError when
  /// no config can measure it on the problem.
  std::string entry_for(const Trial& row, const std::string& problem) const {
    // Other variants may not have its leading dimensions.
    const std::string sizes = problem_words(problem).front();
    const auto load_entry = [&](const Json& entry) {
      return load(Json{{"templates", Json::array({entry})}, {"problems", {sizes}}}.dump());
    };
    const Operation first = load_entry(row.template_name).templates.front().operation;
    if (is_of_variant(row, first)) return Json(row.template_name).dump();
    Json entry{{"template", row.template_name}};
    for (const Choices& options : first.offered_options) {  // all types with all options may be too many
      entry["types"] = Json::array();
      for (const Choices& types : first.offered_types) entry["types"].push_back(json_of(types));
      entry["options"] = json_of(options);
      for (const TemplateSpec& kernel : load_entry(entry).templates) {
        if (!is_of_variant(row, kernel.operation)) continue;
        entry["types"] = json_of(variant_of(kernel.operation).types);
        return entry.dump();
      }
    }
    throw UserError("its manifest offers other types or options", "Add them to the manifest.");
  }

  std::string config(const Purpose& purpose, const std::string& side, const Lacking& lacking) const {
    Json problems = Json::array();
    for (const auto& entry : lacking) problems.push_back(entry.first);
    Json config{{"templates", Json::array()}, {"problems", problems}};
    for (const std::string& entry : entries_of(lacking))
      config["templates"].push_back(narrowed(entry, side, lacking));
    if (!purpose.scalars.empty()) config["scalars"] = scalars(purpose.scalars);
    config["measure"] = Json::object();
    if (!purpose.cache.empty()) config["measure"]["cache"] = purpose.cache;
    // They are to be timed, however slow they are beside each other.
    config["measure"]["screening"] = 0;
    return config.dump(2) + "\n";
  }

  std::uint64_t count(const std::string& config, const Stop& stop) const {
    const TuneSpec spec = load(config);
    std::uint64_t all = 0;
    for (const Problem& problem : spec.problems) {
      for (const TemplateSpec& kernel : spec.templates) {
        if (!kernel.runs(problem)) continue;
        if (stop()) throw Stopped();
        all += Space(kernel, problem, stop).size();
      }
    }
    return all;
  }

 private:
  TuneSpec load(const std::string& config) const { return parse_tune_spec(config, "the config", options_); }

  static Json scalars(const std::string& text) {
    Json values = Json::object();
    for (const std::string& word : split(text, ' ')) {
      const auto parts = split(word, '=');
      if (parts.size() == 2) values[parts.front()] = parse_json(parts.back(), "scalars");
    }
    return values;
  }

  Json narrowed(const std::string& entry_text, const std::string& side, const Lacking& lacking) const {
    Json entry = Json::parse(entry_text);
    Json values = Json::object();
    Json constraints = Json::array();
    for (const auto& [label, kernels] : lacking) {
      const TuneSpec spec = load(Json{{"templates", Json::array({entry})}, {"problems", {label}}}.dump());
      const auto found = kernels.find(entry_text);
      std::vector<NamedValues> configurations;
      if (found != kernels.end()) {
        for (const std::string& parameters : found->second)
          configurations.push_back(values_of(parameters, spec.templates.front()));
      }
      constraints.push_back({{"require", requirement(spec.problems.front(), configurations)},
                             {"why", fmt::format("what {} has not measured at {}", side, label)}});
      for (const NamedValues& configuration : configurations) add_values(configuration, values);
    }
    if (entry.is_string()) entry = Json{{"template", entry}};
    if (!values.empty()) entry["parameters"] = values;
    entry["constraints"] = constraints;
    return entry;
  }

  static void add_values(const NamedValues& configuration, Json& lists) {
    for (const auto& [name, value] : configuration) {
      Json& list = lists[name];
      const Json json = to_json(value);
      if (std::find(list.begin(), list.end(), json) == list.end()) list.push_back(json);
    }
  }

  LoadOptions options_;
};

std::string file_word(const std::string& text) {
  const std::string word = squashed(text);
  return word.empty() ? "side" : word;
}

fs::path with_word(const fs::path& file, const std::string& word) {
  fs::path name = file.stem();
  name += "-" + word;
  name += file.extension();
  return file.parent_path() / name;
}

/// Whose rows are lacking.
struct FillSide {
  std::string name;
  bool is_predicted = false;
};

/// Gives each purpose a file name of its own.
std::map<Purpose, fs::path> files_for(const std::map<Purpose, Lacking>& purposes,
                                      const std::vector<FillSide>& sides, bool names_gpu,
                                      const fs::path& file) {
  std::map<Purpose, fs::path> files;
  std::set<fs::path> taken;
  for (const auto& [purpose, lacking] : purposes) {
    std::string word = file_word(sides[purpose.side].name);
    if (names_gpu) word += "-" + file_word(purpose.gpu);
    fs::path name = purposes.size() == 1 ? file : with_word(file, word);
    for (int i = 2; !taken.insert(name).second; ++i) name = with_word(file, fmt::format("{}-{}", word, i));
    files.emplace(purpose, name);
  }
  return files;
}

std::string command_for(const FillSide& side, const std::string& gpu, const fs::path& file) {
  const std::string sweep = "tiletune sweep " + shell_quoted(file.string());
  return side.is_predicted ? sweep + " --gpu " + shell_quoted(gpu)
                           : fmt::format("{} on a machine with {}", sweep, gpu);
}

std::size_t size_of(const Lacking& lacking) {
  std::size_t count = 0;
  for (const auto& [problem, kernels] : lacking) {
    for (const auto& entry : kernels) count += entry.second.size();
  }
  return count;
}

/// The best of two sides may be one configuration, and written in two ways.
void add(const Trial& row, std::set<std::string>& configurations) {
  const Identity identity = identity_of("", row.parameters);
  const bool is_known =
      std::any_of(configurations.begin(), configurations.end(),
                  [&](const auto& parameters) { return identity_of("", parameters) == identity; });
  if (!is_known) configurations.insert(row.parameters);
}

/// What is lacking, and lines about what no config can measure.
class Purposes {
 public:
  explicit Purposes(const FillWriter& writer) : writer_(writer) {}

  /// The configuration of a row is lacking on a problem.
  void add(const Purpose& purpose, const Trial& row, const std::string& problem) {
    const auto [known, is_new] =
        entries_.try_emplace({row.template_name, row.element_types, row.options, problem});
    std::optional<std::string>& entry = known->second;
    if (is_new) {
      try {
        entry = writer_.entry_for(row, problem);
      } catch (const UserError& error) {
        lines_.push_back(
            fmt::format("no config can measure {} at {}: {}", row.template_name, problem, error.message()));
      }
    }
    if (entry) tiletune::add(row, all_[purpose][problem][*entry]);
  }

  const std::map<Purpose, Lacking>& all() const { return all_; }
  const std::vector<std::string>& lines() const { return lines_; }

 private:
  const FillWriter& writer_;
  std::map<Purpose, Lacking> all_;
  // None where no config can measure it.
  std::map<std::array<std::string, 4>, std::optional<std::string>> entries_;
  std::vector<std::string> lines_;
};

/// As FillWriter::count(). Throws PlanningStopped.
std::uint64_t counted_for(const fs::path& file, const FillWriter& writer, const std::string& config,
                          const Stop& stop) {
  try {
    return writer.count(config, stop);
  } catch (const Stopped&) {
    throw PlanningStopped("stopped while its configurations were being counted", Where{file.string(), ""},
                          "Run the same command again to write it.");
  }
}

/// A config's text, counted.
std::string checked_config(const FillWriter& writer, const Purpose& purpose, const FillSide& side,
                           const Lacking& lacking, const fs::path& file, const Stop& stop) {
  std::string config = writer.config(purpose, side.name, lacking);
  const std::uint64_t count = counted_for(file, writer, config, stop);
  if (count == size_of(lacking)) return config;
  throw UserError(
      fmt::format("a config would measure {} configurations instead of {}", count, size_of(lacking)),
      Where{file.string(), ""},
      "A template has changed since the rows were recorded: sweep the problems again.");
}

/// `names_gpu`: of several files each has its GPU in its name.
FillConfigs write_configs(const Purposes& purposes, const std::vector<FillSide>& sides, bool names_gpu,
                          const FillWriter& writer, const fs::path& file, const Stop& stop) {
  std::vector<std::string> lines = purposes.lines();
  if (purposes.all().empty())
    lines.push_back(fmt::format("nothing to fill: {} is not written", file.string()));
  const auto files = files_for(purposes.all(), sides, names_gpu, file);
  for (const auto& [purpose, lacking] : purposes.all()) {
    const FillSide& side = sides[purpose.side];
    const fs::path& place = files.at(purpose);
    write_file(place, checked_config(writer, purpose, side, lacking, place, stop));
    lines.push_back(
        fmt::format("{}: {} of {} for {}; run {}", place.string(), counted(size_of(lacking), "configuration"),
                    counted(lacking.size(), "problem"), side.name, command_for(side, purpose.gpu, place)));
  }
  return {purposes.all().size(), lines};
}

}  // namespace

FillConfigs write_fill_configs(const Comparison& comparison, const Databases& databases, const fs::path& file,
                               const Stop& stop) {
  const FillWriter writer(file);
  Purposes purposes(writer);
  for (const UnmeasuredTransfer& transfer : unmeasured_transfers(comparison)) {
    const ComparedProblem& problem = comparison.problems[transfer.problem];
    const Trial row = databases.row(transfer.id);
    const std::string& gpu = problem.gpu.empty() ? comparison.sides[transfer.to].name : problem.gpu;
    purposes.add({transfer.to, gpu, row.scalars, problem.cache}, row, problem.problem);
  }
  std::vector<FillSide> sides;
  for (const ComparedSide& side : comparison.sides)
    sides.push_back({side.name, side.sources == std::set<Source>{Source::predicted}});
  return write_configs(purposes, sides, comparison.by != CompareBy::gpu, writer, file, stop);
}

FillConfigs write_fill_configs(const std::vector<RecordedPortfolio>& portfolios, const Database& database,
                               const fs::path& file, const Stop& stop) {
  const FillWriter writer(file);
  Purposes purposes(writer);
  std::vector<FillSide> sides;
  for (const RecordedPortfolio& recorded : portfolios) {
    const Comparable& what = recorded.group.what;
    for (const PortfolioGap& gap : gaps_of(recorded.portfolio)) {
      const PortfolioTable& table = recorded.group.table;
      const Trial row = database.row(table.kernels[recorded.portfolio.kernels[gap.kernel]].row);
      purposes.add({sides.size(), what.gpu, row.scalars, what.cache}, row, table.problems[gap.problem].label);
    }
    sides.push_back({what.gpu, what.source == Source::predicted});
  }
  return write_configs(purposes, sides, false, writer, file, stop);
}

FillConfigs write_fill_configs(const std::vector<AppliedPortfolio>& applied, const fs::path& file,
                               const Stop& stop) {
  const FillWriter writer(file);
  Purposes purposes(writer);
  std::vector<FillSide> sides;
  for (const AppliedPortfolio& one : applied) {
    const Comparable& what = one.what;
    for (const AppliedProblem& problem : one.problems) {
      if (problem.applied != Applied::unmeasured) continue;
      const Trial& kernel = one.portfolio.kernels[*problem.kernel];
      purposes.add({sides.size(), what.gpu, kernel.scalars, what.cache}, kernel, problem.label);
    }
    sides.push_back({what.gpu, what.source == Source::predicted});
  }
  return write_configs(purposes, sides, false, writer, file, stop);
}

}  // namespace tiletune
