// The functions that programs get say of sizes what the space says: for random configurations of all shipped
// templates at random sizes, both refuse, or both describe the same launches.

#include "deploy/plan_code.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <random>

#include "deploy/deployment.h"
#include "space/instance.h"
#include "spec/load.h"
#include "spec/paths.h"
#include "temporary_folder.h"

namespace tiletune {
namespace plan_code_test {

namespace fs = std::filesystem;

constexpr int kMultiprocessors = 132;

/// A size of a problem that is asked about, and what the space says of it.
struct Question {
  std::size_t kernel = 0;
  Problem problem;
  std::string expected;
};

std::string map_text(const TensorMapShape& map) {
  return fmt::format("{} {} {} {} {} {} {}", static_cast<int>(map.type), fmt::join(map.extents, ","),
                     fmt::join(map.pitches, ","), fmt::join(map.box, ","), name(map.swizzle),
                     name(map.promotion), map.offset);
}

/// All that a launch needs, in the words that kProgram prints.
std::string launches_text(const Instance& instance, const TemplateSpec& spec) {
  std::string text;
  for (const SizedWorkspace& one : instance.workspace)
    text += fmt::format("w{}{} ", one.bytes(), one.zeroed ? "z" : "");
  for (const KernelLaunch& launch : instance.launches) {
    text += fmt::format("k{} g{},{},{} b{},{},{} s{}{} ", launch.listed, launch.grid.x, launch.grid.y,
                        launch.grid.z, launch.block.x, launch.block.y, launch.block.z,
                        launch.dynamic_shared_bytes, launch.programmatic ? "p" : "");
    for (const ArgumentValue& argument : launch.arguments) {
      if (argument.kind == Argument::Kind::scalar) {
        const auto* const whole = std::get_if<std::int64_t>(&argument.value);
        text += whole != nullptr ? fmt::format("{} ", *whole)
                                 : fmt::format("{:.17g} ", std::get<double>(argument.value));
        continue;
      }
      const auto place = [&](const auto& list) {
        return std::ranges::find_if(list, [&](const auto& one) { return one.name == argument.name; }) -
               list.begin();
      };
      const auto array = place(spec.workspace);
      const bool is_array = array < std::ssize(spec.workspace);
      const auto buffer = place(spec.operation.buffers);
      const bool is_absent = !is_array && buffer == std::ssize(spec.operation.buffers);
      const bool is_map = argument.kind == Argument::Kind::tensor_map;
      if (is_absent || (is_map && !argument.tensor_map)) {
        text += is_map ? "nomap " : "null ";
        continue;
      }
      text += fmt::format("{}{} ", is_array ? "w" : "b", is_array ? array : buffer);
      if (is_map) text += "[" + map_text(*argument.tensor_map) + "] ";
    }
  }
  return text;
}

/// "refused", or the launches of a configuration for a problem.
std::string expected(const DeployedKernel& kernel, const Instantiator& there) {
  const std::string refused = "refused";
  if (!there.allows(kernel.configuration, kMultiprocessors)) return refused;
  try {
    const Instance instance = there.instantiate(kernel.configuration, kMultiprocessors);
    for (const KernelLaunch& launch : instance.launches) {
      if (launch.kernel_expression != kernel.code.expressions[launch.listed]) return refused;
      const Dim3& grid = launch.grid;
      const Dim3& block = launch.block;
      const bool fits = grid.x <= kLargestGrid.x && grid.y <= kLargestGrid.y && grid.z <= kLargestGrid.z &&
                        block.x <= 1024 && block.y <= 1024 && block.z <= 64 && block.count() <= 1024;
      if (!fits) return refused;
    }
    return launches_text(instance, *kernel.spec);
  } catch (const UserError&) {
    return refused;
  }
}

constexpr const char* kProgram = R"(
#include <cstdio>
#include "kernels.h"
using namespace tuned;
int main() {
  int kernel, count;
  Device device;
  device.compute_capability = 90;
  static Plan plan;
  while (std::scanf("%d %d", &kernel, &count) == 2) {
    detail::Value n[32];
    for (int i = 0; i < count; ++i) {
      char kind;
      double number;
      long long whole;
      std::scanf(" %c", &kind);
      if (kind == 'f' && std::scanf("%lf", &number) == 1) n[i] = number;
      if (kind == 'i' && std::scanf("%lld", &whole) == 1) n[i] = whole;
    }
    plan.reset(device);
    kKernels[kernel].plan(n, plan);
    if (plan.refused != nullptr) {
      std::puts("refused");
      continue;
    }
    for (int i = 0; i < plan.workspaces; ++i)
      std::printf("w%lld%s ", plan.workspace[i].bytes, plan.workspace[i].zeroed ? "z" : "");
    for (int i = 0; i < plan.launches; ++i) {
      const Launch& l = plan.launch[i];
      std::printf("k%d g%u,%u,%u b%u,%u,%u s%u%s ", l.kernel, l.grid[0], l.grid[1], l.grid[2], l.block[0], l.block[1],
                  l.block[2], l.shared_bytes, l.programmatic ? "p" : "");
      for (int j = 0; j < l.arguments; ++j) {
        const Argument& a = l.argument[j];
        if (a.kind == Argument::scalar && a.type <= Type::e5m2) std::printf("%.17g ", a.real);
        if (a.kind == Argument::scalar && a.type > Type::e5m2) std::printf("%lld ", a.whole);
        if (a.kind == Argument::null_address) std::printf("null ");
        if (a.kind == Argument::no_map) std::printf("nomap ");
        if (a.kind == Argument::buffer || a.kind == Argument::map_of_buffer) std::printf("b%d ", a.place);
        if (a.kind == Argument::workspace || a.kind == Argument::map_of_workspace) std::printf("w%d ", a.place);
        if (a.kind != Argument::map_of_buffer && a.kind != Argument::map_of_workspace) continue;
        const TensorMap& m = a.map;
        std::printf("[%d ", static_cast<int>(m.type));
        for (int d = 0; d < m.rank; ++d) std::printf("%s%lld", d > 0 ? "," : "", m.extents[d]);
        std::printf(" ");
        for (int d = 0; d + 1 < m.rank; ++d) std::printf("%s%lld", d > 0 ? "," : "", m.pitches[d]);
        std::printf(" ");
        for (int d = 0; d < m.rank; ++d) std::printf("%s%lld", d > 0 ? "," : "", m.box[d]);
        const auto bytes = [](int b) { b == 0 ? std::printf(" none") : std::printf(" %dB", b); };
        bytes(m.swizzle_bytes);
        bytes(m.promotion_bytes);
        std::printf(" %lld] ", m.offset);
      }
    }
    std::puts("");
  }
}
)";

class Shipped : public testing::Test {
 protected:
  void add(const std::string& name, int configurations) {
    LoadOptions options;
    options.template_folders = {templates_};
    const TemplateSpec& spec = specs_.emplace_back(load_template(templates_ / name / kManifestName, options));
    if (!spec.steps.empty()) return;
    for (int i = 0, tries = 0; i < configurations && tries < 200; ++tries) {
      const Problem problem = random_problem(spec);
      try {
        const Space space(spec, problem);
        if (space.size() == 0) continue;
        DeployedKernel kernel;
        kernel.spec = {std::shared_ptr<const TemplateSpec>(), &spec};
        kernel.row.template_name = name;
        kernel.problem = problem;
        kernel.configuration = space.at(random_() % space.size());
        Instantiator(spec, problem).instantiate(kernel.configuration, kMultiprocessors);
        kernel.code = plan_code(spec, problem, kernel.configuration);
        kernel.source = &sources_.emplace_back(DeployedSource{
            read_kernel_source(spec.source, spec.folder, spec.include_folders, spec.folder, false),
            fs::path("kernels") / name});
        deployment_.kernels.push_back(std::move(kernel));
        ++i;
      } catch (const UserError&) {  // sizes for which the template has no space
      }
    }
  }

  Problem random_problem(const TemplateSpec& spec) {
    constexpr std::array<std::int64_t, 5> kSteps{1, 2, 8, 64, 128};
    Problem problem;
    const std::int64_t step = kSteps[random_() % kSteps.size()];
    for (const std::string& name : spec.operation.dimensions) {
      const double size =
          std::exp2(std::uniform_real_distribution<>(0, random_() % 50 == 0 ? 33 : 13)(random_));
      problem.dimensions.emplace_back(name, (static_cast<std::int64_t>(size) + step - 1) / step * step);
    }
    for (const LeadingDimension& leading : spec.operation.leading_dimensions)
      if (random_() % 4 == 0)
        problem.leading.emplace_back(leading.name, problem.at(leading.columns) + random_() % 9);
    return problem;
  }

  const fs::path templates_ = TILETUNE_SOURCE_DIR "/kernel_templates";
  std::mt19937_64 random_{1};
  std::deque<TemplateSpec> specs_;
  std::deque<DeployedSource> sources_;
  Deployment deployment_;
};

TEST_F(Shipped, ProgramsPlanWhatTheSpaceDescribes) {
  if (std::system("command -v c++ > /dev/null 2>&1") != 0) GTEST_SKIP() << "no C++ compiler";
  for (const fs::directory_entry& entry : fs::directory_iterator(templates_))
    if (fs::exists(entry.path() / kManifestName)) add(entry.path().filename().string(), 4);
  ASSERT_GT(deployment_.kernels.size(), 150);
  const TemporaryFolder folder;
  std::ofstream(folder.path() / "kernels.h") << kernels_header(deployment_, "tuned");
  std::ofstream(folder.path() / "main.cpp") << kProgram;
  std::vector<Question> questions;
  std::ofstream input(folder.path() / "questions");
  const char* const asked = std::getenv("TILETUNE_PROBLEMS");
  const int problems =
      asked != nullptr ? std::atoi(asked) : 60;  // of each template, asked of all its kernels
  std::size_t answered = 0;
  for (const TemplateSpec& spec : specs_) {
    for (int i = 0; i < problems; ++i) {
      const Problem problem = random_problem(spec);
      std::optional<Instantiator> there;
      try {
        there.emplace(spec, problem);
      } catch (const UserError&) {  // sizes whose buffers cannot be counted
        continue;
      }
      for (std::size_t kernel = 0; kernel < deployment_.kernels.size(); ++kernel) {
        if (deployment_.kernels[kernel].spec.get() != &spec) continue;
        questions.push_back({kernel, problem, expected(deployment_.kernels[kernel], *there)});
        answered += questions.back().expected == "refused" ? 0 : 1;
        const Operation& operation = spec.operation;
        input << kernel << ' '
              << operation.dimensions.size() + operation.leading_dimensions.size() +
                     operation.scalars.size() + 1;
        for (const auto& [name, size] : problem.dimensions) input << " i " << size;
        for (const LeadingDimension& leading : operation.leading_dimensions)
          input << " i " << problem.at(leading);
        for (const auto& [name, value] : operation.scalars) input << " f " << fmt::format("{:.17g}", value);
        input << " i " << kMultiprocessors << '\n';
      }
    }
  }
  input.close();
  EXPECT_GT(questions.size(), 8000);
  EXPECT_GT(answered, questions.size() / 10);
  std::printf("%zu questions, %zu of them answered by launches\n", questions.size(), answered);
  const std::string in_folder = "cd '" + folder.path().string() + "' && ";
  ASSERT_EQ(std::system((in_folder + "c++ -std=c++17 -Wall -Wextra -Werror main.cpp -o main && "
                                     "./main < questions > answers")
                            .c_str()),
            0);
  std::ifstream answers(folder.path() / "answers");
  std::string line;
  std::size_t differences = 0;
  for (const Question& question : questions) {
    std::getline(answers, line);
    if (line == question.expected) continue;
    if (++differences <= 10)
      ADD_FAILURE() << deployment_.kernels[question.kernel].name() << " at " << question.problem.label()
                    << "\nprogram: " << line << "\nspace:   " << question.expected;
  }
  EXPECT_EQ(differences, 0) << "of " << questions.size();
}

}  // namespace plan_code_test
}  // namespace tiletune
