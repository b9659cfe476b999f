#include "cli/fill_config.h"

#include "base/file.h"
#include "cli/common.h"
#include "deploy/recorded_kernels.h"
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
/// are lacking there. In the order of the alphabet a template's name is a fixed place.
using Lacking = std::map<std::string, std::map<std::string, std::set<std::string>>>;

std::size_t size_of(const Lacking& lacking) {
  std::size_t count = 0;
  for (const auto& [problem, kernels] : lacking)
    for (const auto& entry : kernels) count += entry.second.size();
  return count;
}

/// What one config is for.
struct Purpose {
  std::size_t side = 0;
  std::string gpu;  ///< that it is to be measured on
  std::string scalars;
  std::string cache;
  auto operator<=>(const Purpose&) const = default;
};

/// Whose rows are lacking.
struct FillSide {
  std::string name;
  bool is_predicted = false;
};

Json json_of(const Choices& choices) {
  Json object = Json::object();
  for (const auto& [name, text] : choices) object[name] = text;
  return object;
}

/// As the template writes them.
NamedValues values_of(const std::string& parameters, const TemplateSpec& kernel) {
  NamedValues values;
  const Json object = parse_json(parameters, "parameters");
  for (const auto& [name, json] : object.items()) {
    const auto parameter = std::ranges::find(kernel.parameters, name, &Parameter::name);
    const auto value =
        recorded_value(parameter != kernel.parameters.end() ? parameter->values : std::vector<Value>(), json);
    if (!value)
      throw UserError(fmt::format("the parameter {} of a recorded row has no plain value", name),
                      "No config can name it.");
    values.emplace_back(name, *value);
  }
  return values;
}

std::string term(const std::string& name, const Value& value) {
  if (const auto* boolean = std::get_if<bool>(&value)) return *boolean ? name : "not " + name;
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) return fmt::format("{} == {}", name, to_text(value));
  return fmt::format("{0} == {2}{1}{2}", name, *text, text->find('\'') == std::string::npos ? '\'' : '"');
}

/// Admits the given configurations on the problem and says nothing of others.
std::string requirement(const Problem& problem, const std::vector<NamedValues>& configurations) {
  std::vector<std::string> terms;
  for (const auto& [name, size] : problem.dimensions) terms.push_back(fmt::format("{} == {}", name, size));
  for (const auto& [name, elements] : problem.leading)
    terms.push_back(fmt::format("{} == {}", name, elements));
  std::string text = fmt::format("not ({})", join(terms, " and "));
  for (const NamedValues& configuration : configurations) {
    terms.clear();
    for (const auto& [name, value] : configuration) terms.push_back(term(name, value));
    text += terms.empty() ? " or 1 == 1" : fmt::format(" or ({})", join(terms, " and "));
  }
  return text;
}

std::string file_word(const std::string& text) {
  const std::string word = squashed(text);
  return word.empty() ? "side" : word;
}

class FillWriter {
 public:
  FillWriter(const fs::path& file, const Stop& stop) : file_(file), stop_(stop) {
    options_.allow_loose = true;  // who sweeps the config is asked
    options_.template_folders = {fs::absolute(file).parent_path(), home_folder() / "kernel_templates"};
  }

  std::vector<FillSide> sides;

  /// The configuration of a row is lacking on a problem.
  void add(const Purpose& purpose, const Trial& row, const std::string& problem) {
    const auto [known, is_new] =
        entries_.try_emplace({row.template_name, row.element_types, row.options, problem});
    std::optional<std::string>& entry = known->second;
    try {
      if (is_new) entry = entry_for(row, problem);
    } catch (const UserError& error) {
      tell(fmt::format("no config can measure {} at {}: {}", row.template_name, problem, error.message()));
    }
    if (!entry) return;
    // The best of two sides may be one configuration, and written in two ways.
    std::set<std::string>& configurations = lacking_[purpose][problem][*entry];
    const Identity identity = identity_of("", row.parameters);
    const auto is_it = [&](const auto& parameters) { return identity_of("", parameters) == identity; };
    if (std::none_of(configurations.begin(), configurations.end(), is_it))
      configurations.insert(row.parameters);
  }

  /// `names_gpu`: of several files each has its GPU in its name. Returns the exit code.
  int write(bool names_gpu) {
    if (lacking_.empty()) tell(fmt::format("nothing to fill: {} is not written", file_.string()));
    std::set<fs::path> taken;
    for (const auto& [purpose, lacking] : lacking_) {
      const FillSide& side = sides[purpose.side];
      std::string word = file_word(side.name);
      if (names_gpu) word += "-" + file_word(purpose.gpu);
      fs::path place = lacking_.size() == 1 ? file_ : with_word(word);
      for (int i = 2; !taken.insert(place).second; ++i) place = with_word(fmt::format("{}-{}", word, i));
      write_file(place, checked_config(purpose, lacking, place));
      const std::string sweep = "tiletune sweep " + shell_quoted(place.string());
      tell(fmt::format("{}: {} of {} for {}; run {}", place.string(),
                       counted(size_of(lacking), "configuration"), counted(lacking.size(), "problem"),
                       side.name,
                       side.is_predicted ? sweep + " --gpu " + shell_quoted(purpose.gpu)
                                         : fmt::format("{} on a machine with {}", sweep, purpose.gpu)));
    }
    for (const std::string& line : lines_) fmt::print(stderr, "{}\n", printable(line));
    return lacking_.empty() ? 1 : 0;
  }

 private:
  void tell(std::string line) { lines_.push_back(std::move(line)); }

  fs::path with_word(const std::string& word) const {
    return file_.parent_path() / (file_.stem().string() + "-" + word + file_.extension().string());
  }

  TuneSpec load(const Json& config) const { return parse_tune_spec(config.dump(), "the config", options_); }

  /// The entry of a config's templates, as JSON, for the template and variant of a row. Throws UserError when
  /// no config can measure it on the problem.
  std::string entry_for(const Trial& row, const std::string& problem) const {
    const auto load_entry = [&](const Json& entry) {
      // Other variants may not have its leading dimensions.
      return load({{"templates", Json::array({entry})}, {"problems", {problem_words(problem).front()}}});
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

  /// The entry with the values and constraints that leave of the template what is lacking.
  Json narrowed(const std::string& entry_text, const std::string& side, const Lacking& lacking) const {
    Json entry = Json::parse(entry_text);
    Json lists = Json::object();
    Json constraints = Json::array();
    for (const auto& [label, kernels] : lacking) {
      const TuneSpec spec = load({{"templates", Json::array({entry})}, {"problems", {label}}});
      std::vector<NamedValues> configurations;
      if (const auto found = kernels.find(entry_text); found != kernels.end())
        for (const std::string& parameters : found->second)
          configurations.push_back(values_of(parameters, spec.templates.front()));
      constraints.push_back({{"require", requirement(spec.problems.front(), configurations)},
                             {"why", fmt::format("what {} has not measured at {}", side, label)}});
      for (const NamedValues& configuration : configurations) {
        for (const auto& [name, value] : configuration) {
          Json& list = lists[name];
          if (std::find(list.begin(), list.end(), to_json(value)) == list.end())
            list.push_back(to_json(value));
        }
      }
    }
    if (entry.is_string()) entry = Json{{"template", entry}};
    if (!lists.empty()) entry["parameters"] = lists;
    entry["constraints"] = constraints;
    return entry;
  }

  /// The config's text. Throws UserError where it would measure anything else, and PlanningStopped.
  std::string checked_config(const Purpose& purpose, const Lacking& lacking, const fs::path& place) const {
    Json config{{"templates", Json::array()}, {"problems", Json::array()}};
    std::set<std::string> entries;
    for (const auto& [problem, kernels] : lacking) {
      config["problems"].push_back(problem);
      for (const auto& kernel : kernels) entries.insert(kernel.first);
    }
    for (const std::string& entry : entries)
      config["templates"].push_back(narrowed(entry, sides[purpose.side].name, lacking));
    if (!purpose.scalars.empty()) config["scalars"] = Json::object();
    for (const std::string& word : split(purpose.scalars, ' ')) {
      const auto parts = split(word, '=');
      if (parts.size() == 2) config["scalars"][parts.front()] = parse_json(parts.back(), "scalars");
    }
    config["measure"] = Json::object();
    if (!purpose.cache.empty()) config["measure"]["cache"] = purpose.cache;
    // They are to be timed, however slow they are beside each other.
    config["measure"]["screening"] = 0;
    const TuneSpec spec = load(config);
    std::uint64_t count = 0;
    try {
      for (const Problem& problem : spec.problems) {
        for (const TemplateSpec& kernel : spec.templates) {
          if (stop_()) throw Stopped();
          if (kernel.runs(problem)) count += Space(kernel, problem, stop_).size();
        }
      }
    } catch (const Stopped&) {
      throw PlanningStopped("stopped while its configurations were being counted", Where{place.string(), ""},
                            "Run the same command again to write it.");
    }
    if (count == size_of(lacking)) return config.dump(2) + "\n";
    throw UserError(
        fmt::format("a config would measure {} configurations instead of {}", count, size_of(lacking)),
        Where{place.string(), ""},
        "A template has changed since the rows were recorded: sweep the problems again.");
  }

  LoadOptions options_;
  const fs::path& file_;
  const Stop& stop_;
  std::map<Purpose, Lacking> lacking_;
  // None where no config can measure it.
  std::map<std::array<std::string, 4>, std::optional<std::string>> entries_;
  std::vector<std::string> lines_;
};

}  // namespace

int write_fill_configs(const Comparison& comparison, const Databases& databases, const fs::path& file,
                       const Stop& stop) {
  FillWriter writer(file, stop);
  for (const ComparedSide& side : comparison.sides)
    writer.sides.push_back({side.name, side.sources == std::set<Source>{Source::predicted}});
  for (const UnmeasuredTransfer& transfer : unmeasured_transfers(comparison)) {
    const ComparedProblem& problem = comparison.problems[transfer.problem];
    const Trial row = databases.row(transfer.id);
    const std::string& gpu = problem.gpu.empty() ? comparison.sides[transfer.to].name : problem.gpu;
    writer.add({transfer.to, gpu, row.scalars, problem.cache}, row, problem.problem);
  }
  return writer.write(comparison.by != CompareBy::gpu);
}

int write_fill_configs(const std::vector<RecordedPortfolio>& portfolios, const Database& database,
                       const fs::path& file, const Stop& stop) {
  FillWriter writer(file, stop);
  for (const RecordedPortfolio& recorded : portfolios) {
    const Comparable& what = recorded.group.what;
    const PortfolioTable& table = recorded.group.table;
    for (const PortfolioGap& gap : gaps_of(recorded)) {
      const Trial row = database.row(table.kernels[recorded.portfolio.kernels[gap.kernel]].row);
      writer.add({writer.sides.size(), what.gpu, row.scalars, what.cache}, row,
                 table.problems[gap.problem].label);
    }
    writer.sides.push_back({what.gpu, what.source == Source::predicted});
  }
  return writer.write(false);
}

}  // namespace tiletune
