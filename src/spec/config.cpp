#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "spec/load.h"
#include "spec/operation.h"
#include "spec/paths.h"
#include "spec/problem.h"
#include "spec/values.h"

namespace tiletune {

namespace {

namespace fs = std::filesystem;

bool looks_like_config(const fs::path& folder, const std::string& name) {
  constexpr std::size_t kMostRead = std::size_t{1} << 20;
  try {
    const std::string text = Folder(folder).read(name, kMostRead);
    return text.find("\"templates\"") != std::string::npos ||
           text.find("\"ConfigurationSpace\"") != std::string::npos;
  } catch (const UserError&) {
    return false;
  }
}

/// The configs in the folder of a path, in configs/ below it and beside the template folders, in this order:
/// file names, and what to type: a path, or the name of a config that comes with tiletune. Of equal names the
/// first counts.
std::vector<std::pair<std::string, std::string>> known_configs(const fs::path& config,
                                                               const LoadOptions& options) {
  std::vector<std::pair<std::string, std::string>> known;
  std::set<std::string> names;
  const auto add = [&](const fs::path& folder, bool by_name) {
    for (const auto& name : file_names(folder.empty() ? "." : folder, ".json")) {
      if (!looks_like_config(folder, name) || !names.insert(name).second) continue;
      known.emplace_back(name, by_name ? fs::path(name).stem().string() : (folder / name).string());
    }
  };
  add(config.parent_path(), false);
  add(config.parent_path() / "configs", false);
  for (const fs::path& templates : options.template_folders) add(templates.parent_path() / "configs", true);
  return known;
}

/// The file of that path, else the shipped config of that name: "quick", "quick.json", "configs/quick.json".
/// Refuses a config that does not exist, with the nearest that does.
fs::path find_config(const fs::path& config, const LoadOptions& options) {
  std::error_code error;
  if (fs::exists(config, error) && (config.extension() == ".cu" || config.extension() == ".cuh"))
    throw UserError("this is a CUDA source, not a config", Where{config.string(), ""},
                    "Draft a template and a config with: tiletune init " + shell_quoted(config.string()));
  if (fs::exists(config, error)) return config;
  if (!config.has_parent_path() || config.parent_path() == "configs") {
    for (const fs::path& templates : options.template_folders) {
      fs::path shipped = templates.parent_path() / "configs" / config.filename();
      if (!shipped.has_extension()) shipped += ".json";
      if (fs::is_regular_file(shipped, error)) return shipped;
    }
  }
  const auto known = known_configs(config, options);
  using Known = std::pair<std::string, std::string>;
  const auto names = names_of(known, &Known::first);
  fs::path json_file = config.filename();
  if (!json_file.has_extension()) json_file += ".json";
  const auto near = nearest(json_file.string(), names);
  throw UserError(
      "the config does not exist", Where{config.string(), ""},
      "Correct the path." +
          (near ? fmt::format(" Did you mean '{}'?", std::ranges::find(known, *near, &Known::first)->second)
                : suggestion("", names_of(known, &Known::second))));
}

void narrow_parameters(const JsonNode& node, bool extend, TemplateSpec& spec) {
  for (const auto& [name, values] : read_members(node, "an object of lists of values")) {
    Parameter& parameter =
        spec.parameters[find_known(name, names_of(spec.parameters, &Parameter::name), values.where,
                                   fmt::format("the template {} has no parameter '{}'", spec.name, name))];
    parameter.values = read_narrowed_values(values, parameter, extend);
    parameter.where = values.where;
  }
}

/// Reads the name of its folder, not a path.
std::string read_template_name(const JsonNode& node) {
  const fs::path path = read_string(node, "a template's name");
  if (path.has_parent_path()) {
    const bool is_folder = !path.has_filename() || path.filename() == kManifestName;
    const fs::path folder = is_folder ? path.parent_path() : path;
    throw UserError(fmt::format("'{}' is a path, expected the name of a template's folder", path.string()),
                    node.where, fmt::format("Write \"{}\".", folder.filename().string()));
  }
  return read_identifier(node);
}

/// What a list says of a problem that it has twice.
enum class Repeated { refused, taken_once };

/// Reads templates by name, each with what the config says about it, in the variants that it and the problems
/// choose.
class TemplateReader {
 public:
  /// Reads each template in the variants that its entry chooses.
  TemplateReader(std::vector<fs::path> folders, const LoadOptions& options, const JsonNode& list)
      : options_(options), folders_(std::move(folders)) {
    for (const JsonNode& node : read_list(list, "templates")) {
      entries_.push_back({node, {}, {}, {}, {}, {}});
      try {
        read(entries_.back());
      } catch (const UserError& error) {
        entries_.pop_back();
        if (options_.faults == nullptr) throw;
        options_.faults->push_back(error);
      }
    }
    if (!entries_.empty()) return;
    const UserError last = options_.faults->back();
    options_.faults->pop_back();
    throw last;
  }

  /// Names each template once.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Entry& entry : entries_)
      if (!is_among(entry.template_name(), names)) names.push_back(entry.template_name());
    return names;
  }

  /// Gives each problem to the templates that it runs with, and returns all sizes. Refuses a problem whose
  /// types and options no template has, of those wanted where some are.
  std::vector<Problem> read_problems(const std::vector<JsonNode>& nodes,
                                     const std::vector<std::string>& wanted, Repeated repeated) {
    for (Entry& entry : entries_)
      for (TemplateSpec& spec : entry.variants) spec.problems.clear();
    const std::vector<std::string> names = all_setting_names();
    std::vector<Problem> problems;
    std::set<std::string> labels;
    for (const JsonNode& node : nodes) {
      const Choices settings = read_settings(node, names);
      bool is_run = false;
      for (Entry& entry : entries_) {
        if (!wanted.empty() && !is_among(entry.template_name(), wanted)) continue;
        for (const Variant& variant : variants_with(entry, settings)) {
          TemplateSpec& spec = variant_of_entry(entry, variant);
          Problem problem = read_problem(node, spec, names);
          const std::string label = problem.label();
          if (!spec.problems.insert(label).second && repeated == Repeated::refused)
            throw UserError(fmt::format("the problem {} is listed twice{}", label,
                                        spec.variant.empty() ? "" : " for " + spec.label()),
                            node.where, "Remove one of the two.");
          if (labels.insert(label).second) problems.push_back(std::move(problem));
          is_run = true;
        }
      }
      if (!is_run && !has_faults()) refuse_settings(settings, node.where);
    }
    return problems;
  }

  /// Refuses a template that runs none of the problems read last.
  void check_all_run() const {
    if (has_faults()) return;
    for (const Entry& entry : entries_) {
      const auto runs = [](const TemplateSpec& spec) { return !spec.problems.empty(); };
      if (std::ranges::any_of(entry.variants, runs)) continue;
      throw UserError(fmt::format("the template {} has the types and options of none of the problems",
                                  entry.template_name()),
                      entry.node.where, "Remove it, choose others for it, or add a problem that it can run.");
    }
  }

  /// All that were read, in the order of the entries.
  std::vector<TemplateSpec> take() {
    std::vector<TemplateSpec> specs;
    for (Entry& entry : entries_)
      for (TemplateSpec& spec : entry.variants) specs.push_back(std::move(spec));
    return specs;
  }

  std::vector<std::string> all_setting_names() const {
    std::vector<std::string> names;
    for (const Entry& entry : entries_)
      for (const std::string& name : setting_names(entry.offered))
        if (!is_among(name, names)) names.push_back(name);
    return names;
  }

 private:
  struct Entry {
    JsonNode node;
    std::optional<JsonNode> name;
    std::optional<JsonNode> types;    ///< that it chooses
    std::optional<JsonNode> options;  ///< that it chooses
    Operation offered;                ///< as the manifest has it
    std::vector<TemplateSpec> variants;

    const std::string& template_name() const { return variants.front().name; }
  };

  TemplateSpec read_named(const JsonNode& node, const Variant* variant = nullptr) const {
    if (!node.json.get().is_string()) refuse_kind(node, "a template's name, or an object with \"template\"");
    return load_template(
        find_template(read_template_name(node), folders_, options_.allow_outside_paths, node.where),
        kManifestName, options_, variant);
  }

  void read(Entry& entry) {
    entry.name = entry.node;
    if (entry.node.json.get().is_object()) {
      ObjectReader reader(entry.node, key_names(keys::kNarrowing));
      entry.name = reader.need("template", "a template's name");
      entry.types = reader.find("types");
      entry.options = reader.find("options");
    }
    TemplateSpec unchosen = read_named(*entry.name);
    entry.offered = unchosen.operation;
    if (!entry.types && !entry.options) return add(entry, std::move(unchosen));
    for (const Variant& variant : variants_with(entry, {})) add(entry, read_variant(entry, variant));
  }

  TemplateSpec read_variant(const Entry& entry, const Variant& variant) const {
    TemplateSpec spec = read_named(*entry.name, &variant);
    spec.variant = variant_text(variant, entry.offered);
    return spec;
  }

  /// Lists the variants of an entry that have the settings of a problem; without settings those that it
  /// chooses.
  static std::vector<Variant> variants_with(const Entry& entry, const Choices& settings) {
    const Operation& offered = entry.offered;
    const auto settings_in = [&](const Choices& choices) {
      Choices own;
      for (const auto& setting : settings)
        if (is_among(setting.first, names_of(choices, &Choices::value_type::first))) own.push_back(setting);
      return own;
    };
    const Choices own_types = settings_in(offered.offered_types.front());
    const Choices own_options = settings_in(offered.offered_options.front());
    if (own_types.size() + own_options.size() < settings.size()) return {};
    const auto name = entry.name->json.get().get<std::string>();
    const auto types = select_offered(entry.types, own_types, offered.offered_types, "type variable", name);
    const auto options = select_offered(entry.options, own_options, offered.offered_options, "option", name);
    if (types.size() * options.size() > kMostParts)
      throw UserError(fmt::format("more than {} combinations of types and options", kMostParts),
                      entry.node.where, "Choose fewer.");
    std::vector<Variant> variants;
    for (const Choices& chosen_types : types)
      for (const Choices& chosen_options : options) variants.push_back({chosen_types, chosen_options});
    return variants;
  }

  /// It is read where no problem before has asked for it.
  TemplateSpec& variant_of_entry(Entry& entry, const Variant& variant) {
    const auto is_it = [&](const TemplateSpec& spec) { return variant_of(spec.operation) == variant; };
    const auto known = std::ranges::find_if(entry.variants, is_it);
    if (known != entry.variants.end()) return *known;
    add(entry, read_variant(entry, variant));
    return entry.variants.back();
  }

  void add(Entry& entry, TemplateSpec spec) {
    if (entry.node.json.get().is_object()) {
      ObjectReader reader(entry.node, key_names(keys::kNarrowing));
      const auto extend = reader.find("extend");
      const bool may_extend = extend && read_boolean(*extend);
      if (const auto parameters = reader.find("parameters")) narrow_parameters(*parameters, may_extend, spec);
      if (const auto constraints = reader.find("constraints"))
        for (auto& constraint : read_constraints(*constraints)) {
          constraint.narrows = true;
          spec.constraints.push_back(std::move(constraint));
        }
    }
    const Operation& own = spec.operation;
    for (const Entry& other : entries_) {
      for (const TemplateSpec& known : other.variants) {
        // A template may stand in several entries, in different variants.
        if (known.name == spec.name && variant_of(known.operation) == variant_of(own))
          throw UserError(fmt::format("the template {} is listed twice", spec.label()), entry.node.where,
                          "Remove one of the two, or choose other types or options for it.");
        // Rows of operations of one name are ranked together.
        if (known.operation.name == own.name && known.operation.definition != own.definition)
          throw UserError(
              fmt::format("the operation {} of {} differs from that of {}", own.name, spec.name, known.name),
              spec.where.at("operation"),
              "Make them equal but for types, options and scalars, or give one another name.");
      }
    }
    // One list of problems, one set of scalars and one baseline serve all templates.
    const TemplateSpec& first = entries_.front().variants.empty() ? spec : entries_.front().variants.front();
    if (problem_kind(first) != problem_kind(spec))
      throw UserError(fmt::format("{} and {} have different problems: {} and {}", first.name, spec.name,
                                  problem_kind(first), problem_kind(spec)),
                      entry.node.where, "Sweep them with separate configs.");
    entry.variants.push_back(std::move(spec));
  }

  bool has_faults() const { return options_.faults != nullptr && !options_.faults->empty(); }

  [[noreturn]] void refuse_settings(const Choices& settings, const Where& where) const {
    std::vector<std::string> offers;
    for (const auto& [name, text] : settings) {
      std::vector<std::string> texts;  // all that some manifest offers
      for (const Entry& entry : entries_)
        for (const auto* offered : {&entry.offered.offered_types, &entry.offered.offered_options})
          for (const Choices& choices : *offered)
            for (const auto& [choice, other] : choices)
              if (choice == name && !is_among(other, texts)) texts.push_back(other);
      offers.push_back(fmt::format("{} {}", name, join(texts, ", ")));
    }
    throw UserError(
        fmt::format("no template of the config has {}", choices_text(settings)), where,
        fmt::format("They offer {}. Change the problem, or what the templates choose.", join(offers, "; ")));
  }

  static std::string problem_kind(const TemplateSpec& spec) {
    std::string kind = join(spec.operation.dimensions, "x");
    for (const LeadingDimension& leading : spec.operation.leading_dimensions) kind += " " + leading.name;
    return kind;
  }

  const LoadOptions& options_;
  std::vector<fs::path> folders_;
  std::vector<Entry> entries_;  ///< a template at least, each in a variant at least
};

/// Sets a scalar in every template that has it; one that none has is a mistake.
void apply_scalars(const JsonNode& node, std::vector<TemplateSpec>& specs) {
  for (const auto& [name, value_node] : read_members(node, "an object of numbers")) {
    const double value = read_number(value_node);
    std::vector<std::string> known;
    for (TemplateSpec& spec : specs) {
      set_scalar(spec, name, value);
      for (const auto& scalar : spec.operation.scalars) known.push_back(scalar.first);
    }
    find_known(name, known, value_node.where, fmt::format("no template has a scalar '{}'", name));
  }
}

std::size_t find_template_named(const std::string& name, const std::vector<std::string>& known,
                                const Where& where) {
  return find_known(name, known, where, fmt::format("the config has no template '{}'", name),
                    "Name one that it lists.");
}

void check_wanted(const std::vector<std::string>& known, const std::vector<std::string>& wanted) {
  std::set<std::string> named;
  for (const auto& name : wanted) {
    if (!named.insert(name).second) {
      throw UserError(fmt::format("the template '{}' is named twice", name), Where{"--template", ""},
                      "Remove one of the two.");
    }
    find_template_named(name, known, Where{"--template", ""});
  }
}

/// Leaves the templates wanted, where some are, that run a problem, and the problems that one of them runs.
void keep_wanted(TuneSpec& spec, const std::vector<std::string>& wanted) {
  std::erase_if(spec.templates, [&](const TemplateSpec& kernel) {
    const bool is_wanted = wanted.empty() || is_among(kernel.name, wanted);
    return !is_wanted || kernel.problems.empty();
  });
  std::erase_if(spec.problems, [&](const Problem& problem) {
    const auto runs = [&](const TemplateSpec& kernel) { return kernel.runs(problem); };
    return std::ranges::none_of(spec.templates, runs);
  });
}

void read_policies(ObjectReader& reader, TuneSpec& spec) {
  if (const auto node = reader.find("strategy")) {
    ObjectReader strategy(*node, key_names(keys::kStrategy));
    if (const auto name = strategy.find("name")) {
      spec.strategy.name = read_string(*name);
      spec.strategy.where = name->where;
    }
    strategy.read(keys::kStrategy, spec.strategy);
    strategy.finish();
  }
  reader.read(keys::kPolicies, spec);
  // All baselines that the operation has are the default. To choose among libraries is an error where none
  // computes it.
  const TemplateSpec& first = spec.templates.front();
  const auto baseline = reader.find("baseline");
  spec.baseline = baseline                ? read_enum<Baseline>(*baseline)
                  : first.has_baselines() ? Baseline::lt
                                          : Baseline::none;
  if (baseline && spec.baseline != Baseline::none && !first.operation.baseline_library)
    throw UserError(fmt::format("cuBLAS is not a baseline of the operation {}", first.operation.name),
                    baseline->where, "Write \"none\" or remove the key.");
  if (const auto node = reader.find("gpu")) spec.gpu = read_string(*node, "the name of a GPU model");
}

/// The database holds them with the config; whoever shows a ladder reads them there.
void check_steps(const JsonNode& list, const TuneSpec& spec) {
  if (spec.view != View::ladder)
    throw UserError("steps are those of a ladder", list.where, R"(Remove them, or add "view": "ladder".)");
  for (const JsonNode& node : read_list(list, "steps")) {
    ObjectReader reader(node, key_names(keys::kStep));
    read_string(reader.need("name", "what the step is called"));
    const JsonNode of = reader.need("template", "one of the config's templates");
    const std::string name = read_template_name(of);
    TemplateSpec narrowed =
        spec.templates[find_template_named(name, names_of(spec.templates, &TemplateSpec::name), of.where)];
    if (const auto parameters = reader.find("parameters")) {
      for (const auto& [key, values] : read_members(*parameters, "an object of lists of values"))
        read_list(values, "values");
      narrow_parameters(*parameters, false, narrowed);
    }
    reader.finish();
  }
}

/// The command line's problems replace the config's, which are checked all the same.
std::vector<Problem> choose_problems(const JsonNode& list, TemplateReader& templates,
                                     const LoadOptions& options) {
  auto problems = templates.read_problems(read_list(list, "problems", Empty::refused, kMostEntries), {},
                                          Repeated::refused);
  templates.check_all_run();
  const bool has_file = !options.problem_file.empty();
  if (!has_file && options.problems.empty()) return problems;
  std::vector<ListedProblem> listed;
  if (has_file)
    listed = read_problem_file(options.problem_file, templates.all_setting_names());
  else
    for (const std::string& text : options.problems) listed.push_back({text, Where{"--problem", ""}});
  std::vector<JsonNode> nodes;
  for (const ListedProblem& problem : listed) nodes.push_back({problem.json, problem.where});
  return templates.read_problems(nodes, options.templates,
                                 has_file ? Repeated::taken_once : Repeated::refused);
}

/// `folders` are searched for templates, in this order.
TuneSpec read_config(std::string text, const fs::path& file, const fs::path& folder,
                     std::vector<fs::path> folders, const LoadOptions& options) {
  TuneSpec spec;
  spec.file = file;
  spec.folder = folder;
  spec.allow_outside_paths = options.allow_outside_paths;
  spec.config_json = std::move(text);
  const auto json = parse_json(spec.config_json, file.string());
  // The database holds it as JSON, which has no comments.
  if (!nlohmann::json::accept(spec.config_json)) spec.config_json = json.dump(2);
  if (options.read_other != nullptr) {
    if (auto other = options.read_other(json, file, folder, options)) {
      if (!options.problem_file.empty())
        throw UserError("a tuning problem of another tool has one problem", Where{"--problems", ""},
                        "Name its size with --problem.");
      other->file = spec.file;
      other->folder = spec.folder;
      other->allow_outside_paths = spec.allow_outside_paths;
      other->config_json = std::move(spec.config_json);
      check_wanted({other->templates.front().name}, options.templates);
      return *std::move(other);
    }
  }
  if (json.is_object() && !json.contains("templates") && json.contains("kernel") && json.contains("launch"))
    throw UserError(
        "this is a template's manifest, not a config", Where{file.string(), ""},
        fmt::format(R"(Name a config that lists the template: {{"templates": ["{}"], "problems": [...]}}.)",
                    file.parent_path().filename().string()));
  ObjectReader reader({json, {file.string(), ""}}, key_names(keys::kConfig));
  if (const auto node = reader.find("$schema")) read_string(*node);
  const auto name = reader.find("name");
  spec.name = name ? read_string(*name) : file.stem().string();
  const JsonNode templates = reader.need("templates", "a list of template names");
  const JsonNode problems = reader.need("problems", "a list of problems such as \"1024x1024x1024\"");
  TemplateReader reader_of_templates(std::move(folders), options, templates);
  check_wanted(reader_of_templates.names(), options.templates);
  spec.problems = choose_problems(problems, reader_of_templates, options);
  spec.templates = reader_of_templates.take();
  if (const auto list = reader.find("configurations"))
    read_configurations(*list, folder, options.allow_outside_paths, spec.templates);
  if (const auto scalars = reader.find("scalars")) apply_scalars(*scalars, spec.templates);
  read_policies(reader, spec);
  if (const auto steps = reader.find("steps")) check_steps(*steps, spec);
  reader.finish();
  keep_wanted(spec, options.templates);
  return spec;
}

}  // namespace

TuneSpec load_tune_spec(const fs::path& path, const LoadOptions& options) {
  const fs::path config = find_config(path, options);
  // What is read later is looked up where this folder was when the config was read.
  const fs::path folder = Folder(config.parent_path()).real_path();
  std::vector<fs::path> folders{folder};
  folders.insert(folders.end(), options.template_folders.begin(), options.template_folders.end());
  return read_config(read_file(config, kLargestJson), config, folder, std::move(folders), options);
}

TuneSpec parse_tune_spec(const std::string& config, const std::string& place, const LoadOptions& options) {
  return read_config(config, place, folder_of(place), options.template_folders, options);
}

}  // namespace tiletune
