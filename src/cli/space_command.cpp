#include "cli/common.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

struct SpaceOptions {
  ConfigOptions config;
  std::string format = "table";
};

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f}%", 100 * part / whole) : "-";
}

std::string count_text(double count) {
  constexpr double kExactlyPrinted = 1e15;
  return count < kExactlyPrinted ? fmt::format("{:.0f}", count) : fmt::format("{:.3g}", count);
}

const char* combinations(const TemplateSpec& spec) {
  return spec.listed ? "listed configurations" : "raw combinations";
}

std::string as_table(const TemplateSpec& spec, const Problem& problem, const Space& space) {
  std::string out = fmt::format("{} {}: {} {}, {} valid ({})\n", spec.label(), problem.label(),
                                count_text(space.raw_size()), combinations(spec), space.size(),
                                percent(static_cast<double>(space.size()), space.raw_size()));
  TextTable parameters;
  for (const char* column : {"parameter", "values", "meaning"}) parameters.add_column(column, Align::left);
  for (const Parameter& parameter : spec.parameters) {
    std::vector<std::string> values;
    for (const Value& value : parameter.values) values.push_back(to_text(value));
    parameters.add_row({parameter.name, join(values, " "), parameter.meaning});
  }
  TextTable constraints;
  constraints.add_column("removes", Align::right);
  constraints.add_column("of raw", Align::right);
  constraints.add_column("constraint", Align::left);
  constraints.add_column("why", Align::left);
  for (const ConstraintReport& report : space.constraints()) {
    constraints.add_row({count_text(report.removed_first), percent(report.removed_first, space.raw_size()),
                         report.require, report.why});
  }
  const TextStyle style = stdout_style();
  if (!spec.parameters.empty()) out += parameters.text(style) + "\n";
  if (!space.constraints().empty()) out += constraints.text(style) + "\n";
  for (const ConstraintReport& report : space.constraints())
    if (report.without_value > 0) out += report.fault_text() + "\n\n";
  return out;
}

Json as_json(const TemplateSpec& spec, const Problem& problem, const Space& space) {
  Json constraints = Json::array();
  for (const ConstraintReport& report : space.constraints())
    constraints.push_back({{"require", report.require},
                           {"why", report.why},
                           {"removed", report.removed_first},
                           {"without_value", report.without_value},
                           {"fault", report.fault}});
  return {{"template", spec.name},   {"variant", spec.variant}, {"problem", problem.label()},
          {"raw", space.raw_size()}, {"valid", space.size()},   {"constraints", constraints}};
}

int run(SpaceOptions& options) {
  const bool json = asks_for_json(options.format);
  const TuneSpec spec = options.config.load();
  Json list = Json::array();
  double raw = 0;
  std::uint64_t valid = 0;
  for (const Problem& problem : spec.problems) {
    for (const TemplateSpec& kernel : spec.templates) {
      if (!kernel.runs(problem)) continue;
      const Space space(kernel, problem);
      raw += space.raw_size();
      valid += space.size();
      if (json)
        list.push_back(as_json(kernel, problem, space));
      else
        write_output("", as_table(kernel, problem, space));
    }
  }
  print_either(
      json, {{"raw", raw}, {"valid", valid}, {"spaces", list}},
      fmt::format("in all: {} {}, {} valid\n", count_text(raw), combinations(spec.templates.front()), valid));
  if (valid > 0) return 0;
  throw NothingToDo("no configuration satisfies the constraints", Where{spec.file.string(), ""},
                    "Widen the parameters or relax the constraints that remove most.");
}

}  // namespace

void add_space_command(CLI::App& app, Action& action) {
  auto [command, options] = add_command<SpaceOptions>(
      app, action, "space", "Show the size of a search space and what each constraint removes", run);
  options.config.add_to(command);
  command.add_option("--format", options.format, "table or json")->capture_default_str();
  command.footer(
      "Examples:\n  tiletune space configs/sgemm.json\n"
      "  tiletune space configs/sgemm.json --template sgemm_warptile --problem 1000x77x513");
}

}  // namespace tiletune
