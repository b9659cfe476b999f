#include "base/version.h"
#include "cli/common.h"
#include "cli/gpus.h"
#include "doctor/doctor.h"

namespace tiletune {

namespace {

using Json = nlohmann::ordered_json;

struct DoctorOptions {
  GpuChoice gpus{"", kAllGpus, false, {}};
  std::string format = "table";
};

/// One line, and under what is not ok why it matters and what to do.
std::string as_text(const DoctorFinding& finding) {
  std::string text =
      fmt::format("{:<8} {:<16} {}\n", name(finding.health), finding.check, printable(finding.found));
  if (finding.health == Health::ok) return text;
  constexpr int kIndent = 26;
  text += fmt::format("{:{}}{}\n", "", kIndent, printable(finding.why));
  return text + fmt::format("{:{}}-> {}\n", "", kIndent, printable(finding.remedy));
}

std::string as_table(const std::vector<DoctorFinding>& findings) {
  std::string text = fmt::format("tiletune {}\n", kVersion);
  std::optional<int> gpu;
  for (const DoctorFinding& finding : findings) {
    if (finding.gpu != gpu) text += fmt::format("GPU {}\n", *finding.gpu);
    gpu = finding.gpu;
    text += as_text(finding);
  }
  return text + verdict(findings) + "\n";
}

Json as_json(const std::vector<DoctorFinding>& findings) {
  Json checks = Json::array();
  for (const DoctorFinding& finding : findings)
    checks.push_back({{"check", finding.check},
                      {"status", name(finding.health)},
                      {"gpu", finding.gpu ? Json(*finding.gpu) : Json()},
                      {"found", finding.found},
                      {"why", finding.why},
                      {"remedy", finding.remedy}});
  return {{"tiletune", kVersion}, {"verdict", verdict(findings)}, {"checks", checks}};
}

int run(DoctorOptions& options) {
  const bool json = asks_for_json(options.format);
  const bool all = options.gpus.indices == kAllGpus;
  const DoctorFacts facts =
      collect_facts([&](const std::vector<int>& gpus) { return start_gpu_clients(options.gpus, gpus); },
                    all ? std::vector<int>{} : parse_gpu_indices(options.gpus.indices));
  std::vector<DoctorFinding> findings = examine_machine(facts.machine);
  for (const GpuFacts& gpu : facts.gpus)
    for (DoctorFinding& finding : examine_gpu(gpu)) findings.push_back(std::move(finding));
  print_either(json, as_json(findings), fitted(as_table(findings), stdout_style().width));
  return exit_code(findings);
}

}  // namespace

void add_doctor_command(CLI::App& app, Action& action) {
  auto [command, options] = add_command<DoctorOptions>(
      app, action, "doctor", "Report what would disturb measurements on this machine, and how to correct it",
      run);
  add_option(command, "--gpus", options.gpus.indices,
             "GPUs to check: all, or the driver's numbers such as 0,1", {.shows_default = true});
  command.add_option("--format", options.format, "table or json")->capture_default_str();
  // For tests: a program that speaks the GPU worker's protocol, repeated for its arguments, and how long it
  // may take.
  command.add_option("--gpu-worker", options.gpus.worker)->allow_extra_args(false)->group("");
  command.add_option("--open-timeout", options.gpus.open_timeout_s)->group("");
  command.footer(
      "Nothing is changed. Exit code 0: nothing would disturb a measurement, or there is no GPU and the rest "
      "works;\n1: something would; 3: a GPU exists but cannot be used.\n"
      "Examples:\n  tiletune doctor\n  tiletune doctor --gpus 0\n"
      "  tiletune doctor --format json | jq '.checks[] | select(.status != \"ok\")'");
}

}  // namespace tiletune
