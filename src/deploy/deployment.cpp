#include "deploy/deployment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <span>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "compile/request.h"
#include "deploy/source_files.h"
#include "output/cell_text.h"
#include "space/instance.h"
#include "spec/load.h"
#include "spec/operation.h"
#include "spec/paths.h"
#include "spec/reader.h"
#include "tune/row.h"

namespace tiletune {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// NVRTC's options for a configuration, but for the architecture, which a program chooses.
std::vector<std::string> options_of(const DeployedKernel& kernel, const Instantiator& instantiator) {
  const Instance instance = instantiator.instantiate(kernel.configuration, kAnyMultiprocessors);
  std::vector<std::string> options = make_compile_request({}, kernel.source->text, instance, "").options;
  options.erase(options.begin());
  return options;
}

/// The options of a row that its template does not have: those of its config. `own` are the template's.
std::vector<std::string> options_of_config(const Trial& row, const std::vector<std::string>& own) {
  std::vector<std::string> options;
  const Json list = parsed_cell(row.compile_options);
  for (const Json& option : list.is_array() ? list : Json::array()) {
    const std::string text = option.is_string() ? option.get<std::string>() : "";
    if (text.empty() || text.starts_with("--gpu-architecture=") || is_among(text, own)) continue;
    // A database of a stranger could name folders and files here.
    check_compile_option(text, Where{fmt::format("a row of {}", row.template_name), "/compile_options"});
    options.push_back(text);
  }
  return options;
}

constexpr std::size_t kMostCandidates = 64;  ///< of a section, in pick.h.in

/// Problems of which it is asked whether a kernel can run them: of sizes around those that were tuned, even
/// and uneven, and each size at 1.
std::vector<Problem> probes(const PortfolioTable& table, const Problem& one) {
  constexpr int kProbes = 400;
  std::mt19937_64 random(1);
  std::vector<double> most(one.dimensions.size(), 1);
  for (const PortfolioProblem& problem : table.problems)
    for (std::size_t i = 0; i < most.size(); ++i)
      most[i] = std::max(most[i], 2.0 * static_cast<double>(problem.sizes[i]));
  std::vector<Problem> all;
  for (const PortfolioProblem& problem : table.problems) {
    Problem next = one;
    next.leading.clear();
    for (std::size_t i = 0; i < most.size(); ++i) next.dimensions[i].second = problem.sizes[i];
    all.push_back(next);
    for (std::size_t i = 0; i < most.size(); ++i) {
      const std::int64_t tuned = problem.sizes[i];
      for (const std::int64_t size : {tuned + 1, std::int64_t{1}})
        all.emplace_back(next).dimensions[i].second = size;
    }
  }
  for (int i = 0; i < kProbes; ++i) {
    Problem& next = all.emplace_back(one);
    next.leading.clear();
    constexpr std::array<std::int64_t, 6> kSteps{1, 2, 4, 8, 16, 64};
    for (std::size_t j = 0; j < most.size(); ++j) {
      const std::int64_t step = kSteps[random() % kSteps.size()];
      const double size = std::exp2(std::uniform_real_distribution<>(0, std::log2(most[j]))(random));
      next.dimensions[j].second = (static_cast<std::int64_t>(size) + step - 1) / step * step;
    }
  }
  return all;
}

class Builder {
 public:
  Builder(const Database& database, RecordedKernels& recorded, const DeploymentRequest& request)
      : database_(database), recorded_(recorded), request_(request) {}

  Deployment build() {
    std::vector<RecordedPortfolio> portfolios =
        recorded_portfolios(database_, request_.filter, request_.portfolio, [&](const PortfolioTable& table) {
          return recorded_.facts_of(table, [&](const std::string& note) { add_note(note); });
        });
    // Of sections that fit a problem equally the first one counts: what was measured, and what is newer.
    std::ranges::stable_sort(portfolios, std::greater<>(), [](const RecordedPortfolio& recorded) {
      std::int64_t newest = 0;
      for (const std::size_t kernel : recorded.portfolio.kernels)
        newest = std::max(newest, recorded.group.table.kernels[kernel].row);
      return std::pair(recorded.group.what.source == Source::measured, newest);
    });
    for (const RecordedPortfolio& recorded : portfolios) add_section(recorded);
    if (deployment_.kernels.empty()) throw UserError(notes_.front(), "Export it as JSON (--best).");
    if (unmeasured_ > 0)
      notes_.push_back(
          fmt::format("added {} for sizes that no measured kernel can run: compare with the reference "
                      "there, or sweep such a problem",
                      counted(unmeasured_, "unmeasured kernel")));
    for (const std::string& text : notes_)
      if (request_.note) request_.note(text);
    return std::move(deployment_);
  }

 private:
  void add_section(const RecordedPortfolio& recorded) {
    const PortfolioTable& table = recorded.group.table;
    DeployedSection section{recorded.group.what, {}, {}, table.dimensions, {}, {}};
    std::vector<std::optional<std::size_t>> places;
    const std::size_t most = most_kernels();
    for (std::size_t i = 0; i < std::min(recorded.portfolio.kernels.size(), most); ++i) {
      DeployedKernel own = kernel_of(table.kernels[recorded.portfolio.kernels[i]].row);
      const auto [architecture, scalars, at_once] =
          std::tuple(own.row.architecture, own.row.scalars, recorded_.blocks_at_once(own));
      const auto kernel = add_kernel(std::move(own));
      places.push_back(kernel ? std::optional(section.candidates.size()) : std::nullopt);
      if (!kernel) continue;
      if (section.candidates.empty()) section.architecture = architecture;
      if (section.candidates.empty()) section.scalars = scalars;
      section.candidates.push_back({*kernel, recorded.portfolio.models[i], at_once});
    }
    if (section.candidates.empty()) return;
    const TemplateSpec& spec = *deployment_.kernels[section.candidates.front().kernel].spec;
    if (spec.operation.dimensions != table.dimensions)
      throw UserError("its operation has other dimensions than the rows", spec.where,
                      "The operation has changed since: sweep again.");
    for (const FastestKernelOn& fastest : fastest_kernels(recorded))
      if (fastest.kernel < places.size() && places[fastest.kernel])
        section.fastest.push_back({fastest.sizes, *places[fastest.kernel], fastest.time_us});
    add_fallbacks(table, section);
    if (request_.library) add_library(section);
    operation_of(section).sections.push_back(std::move(section));
  }

  /// Why a template's kernels cannot be functions of a program; empty: they can.
  static std::string why_not(const TemplateSpec& spec) {
    constexpr std::size_t kMostSizes = 16;  // of pick.h.in
    constexpr std::size_t kMostNumbers = 62;
    const Operation& what = spec.operation;
    const std::size_t sizes = what.dimensions.size();
    if (!spec.steps.empty()) return "it runs on several GPUs";
    if (is_compiled(spec.source)) return "it is precompiled";
    if (sizes > kMostSizes || sizes + what.leading_dimensions.size() + what.scalars.size() > kMostNumbers)
      return fmt::format("it has {} sizes; at most {} are possible", sizes, kMostSizes);
    return "";
  }

  /// Returns the times of cuBLAS under the same conditions, by sizes.
  std::map<std::vector<std::int64_t>, double> library_times(const DeployedKernel& kernel) const {
    const Trial& like = kernel.row;
    std::map<std::vector<std::int64_t>, double> times;
    TrialFilter filter = request_.filter;
    filter.kinds = {"baseline"};
    database_.for_each(filter, [&](const Trial& row) {
      const double us = row.median_us.value_or(0);
      constexpr std::array kAlike{&Trial::gpu,     &Trial::operation,     &Trial::operation_hash,
                                  &Trial::options, &Trial::element_types, &Trial::scalars,
                                  &Trial::cache};
      const auto is_alike = [&](const auto member) { return row.*member == like.*member; };
      if (row.template_name != "cublas" || row.outcome != Outcome::ok || row.source != like.source ||
          !std::isfinite(us) || us <= 0 || !std::ranges::all_of(kAlike, is_alike))
        return true;
      try {
        const Problem problem = RecordedKernels::problem_of(row, *kernel.spec);
        std::vector<std::int64_t> sizes;
        for (const auto& [dimension, size] : problem.dimensions) sizes.push_back(size);
        if (problem.leading.empty()) times[sizes] = us;
      } catch (const UserError&) {  // the row has other sizes than the operation
      }
      return true;
    });
    return times;
  }

  /// Whether cuBLAS computes the operation as the baseline of that name was timed.
  static bool is_product(const Operation& what) {
    using enum ElementType;
    constexpr std::size_t kBuffers = 3;
    const ElementType type = what.buffers.front().type;
    const bool is_known = type == f64
                              ? what.accumulator == f64
                              : what.accumulator == f32 && (type == f16 || type == bf16 || type == f32);
    return what.baseline_library == LibraryOperation::gemm && what.buffers.size() == kBuffers && is_known &&
           std::ranges::all_of(what.buffers, [&](const Buffer& one) { return one.type == type; });
  }

  /// Adds cuBLAS as a candidate of a section of products, where its times were recorded.
  void add_library(DeployedSection& section) {
    const DeployedKernel first = deployment_.kernels[section.candidates.front().kernel];
    const auto times = is_product(first.spec->operation) ? library_times(first)
                                                         : std::map<std::vector<std::int64_t>, double>();
    if (times.empty()) {
      add_note("cuBLAS is left out of " + first.row.operation +
               ": it computes no such product, or no row has its times (sweep with --baseline cublas)");
      return;
    }
    std::vector<TimeModel::Observation> observations;
    for (const auto& [sizes, us] : times) observations.push_back({sizes, {}, us});
    DeployedKernel library;
    library.row.template_name = "cublas";
    library.spec = first.spec;
    library.problem = first.problem;
    library.options = {std::string(name(first.spec->operation.buffers.front().type))};
    constexpr std::size_t kArguments = 15;
    library.code = {product_plan(first.spec->operation), {}, kArguments};
    for (FastestKernelOn& fastest : section.fastest) {
      const auto known = times.find(fastest.sizes);
      if (known != times.end() && known->second < fastest.time_us) fastest.kernel = section.candidates.size();
    }
    section.candidates.push_back({deployment_.kernels.size(), fit_time_models({observations}).front(), {}});
    deployment_.kernels.push_back(std::move(library));
  }

  /// The kernels that a section has room for; cuBLAS takes a place.
  std::size_t most_kernels() const { return kMostCandidates - (request_.library ? 1 : 0); }

  void add_note(const std::string& note) {
    if (!is_among(note, notes_)) notes_.push_back(note);
  }

  const DeployedSource& source_of(const TemplateSpec& spec) {
    const auto [known, is_new] = sources_.try_emplace(spec.folder, nullptr);
    if (is_new)
      known->second = &deployment_.sources.emplace_back(DeployedSource{
          template_source(spec),
          fs::path("kernels") / spec.name / spec.source.parent_path().lexically_relative(spec.folder)});
    return *known->second;
  }

  /// None, which is noted, for a kernel that no function of one GPU can launch.
  std::optional<std::size_t> add_kernel(DeployedKernel kernel) {
    if (const std::string why = why_not(*kernel.spec); !why.empty()) {
      add_note(fmt::format("{} is left out: {}", kernel.row.template_name, why));
      return std::nullopt;
    }
    kernel.source = &source_of(*kernel.spec);
    kernel.code = plan_code(*kernel.spec, kernel.problem, kernel.configuration);
    DeployedKernel measured = kernel;  // its problem and parameters may be others than the row's
    measured.problem = RecordedKernels::problem_of(kernel.row, *kernel.spec);
    measured.configuration = RecordedKernels::configuration_of(kernel.row, *kernel.spec);
    add_options(kernel, measured);
    const std::string identity = fmt::format("{} {} {} {} {} {}", kernel.spec->folder.string(),
                                             kernel.row.element_types, kernel.row.options, kernel.name(),
                                             join(kernel.code.expressions, " "), join(kernel.options, " "));
    const auto [known, is_new] = numbers_.try_emplace(identity, deployment_.kernels.size());
    if (!is_new) return known->second;
    if (!kernel.row.source_hash.empty() &&
        Hasher().add(kernel.source->text.text).hex() != kernel.row.source_hash)
      throw UserError(
          fmt::format("it differs from the source that was measured as {}", kernel.row.template_name),
          Where{kernel.spec->source.string(), ""}, "Sweep again, or restore the file.");
    check_included(kernel);
    recorded_.check_launches(measured);
    deployment_.kernels.push_back(std::move(kernel));
    return known->second;
  }

  void add_options(DeployedKernel& kernel, const DeployedKernel& measured) {
    const auto of = [&](const DeployedKernel& one) {
      const Instantiator* const there = recorded_.instantiator(one, one.problem);
      if (there == nullptr)
        throw UserError(fmt::format("an expression has no value at {}", one.problem.label()), one.spec->where,
                        "The template has changed since: sweep again.");
      return options_of(one, *there);
    };
    kernel.options = of(kernel);
    for (std::string& option : options_of_config(kernel.row, of(measured)))
      kernel.options.push_back(std::move(option));
  }

  /// Notes files that the kernel includes and that have changed since it was measured, as far as the row
  /// lists them.
  void check_included(const DeployedKernel& kernel) {
    auto files = IncludedLists({}).read(kernel.row.included_files);
    if (!files) return;
    files->erase(kSearchedBehind);
    for (const auto& [name, hash] : *files) {
      const std::string file = (kernel.spec->source.parent_path() / name).lexically_normal().string();
      if (state_of(kernel.source->text, name) == hash || !changed_.insert(file).second) continue;
      notes_.push_back(fmt::format("{} has changed since {} was measured", file, kernel.row.template_name));
    }
  }

  DeployedKernel kernel_of(std::int64_t row) { return {recorded_.of_row(row), nullptr, {}, {}}; }

  /// Gives a kernel parameters that can run its problem, as many of them its own as possible. False where
  /// there are none.
  bool adapt(DeployedKernel& kernel) {
    constexpr std::uint64_t kMostTried = 4096;
    const auto key = std::pair(kernel.spec.get(), kernel.problem.label());
    const auto [known, is_new] = adapted_.try_emplace(key, std::nullopt);
    if (is_new) {
      try {
        const Space space(*kernel.spec, kernel.problem);
        std::size_t most = 0;
        const std::uint64_t step = std::max<std::uint64_t>(space.size() / kMostTried, 1);
        for (std::uint64_t i = 0; i < space.size(); i += step) {
          DeployedKernel other = kernel;
          other.configuration = space.at(i);
          std::size_t equal = 1;
          for (std::size_t j = 0; j < other.configuration.values.size(); ++j)
            equal += other.configuration.values[j] == kernel.configuration.values[j] ? 1 : 0;
          if (equal <= most || !recorded_.can_run(other, other.problem)) continue;
          most = equal;
          known->second = other.configuration;
        }
      } catch (const UserError&) {  // the template has no space there
      }
    }
    if (!known->second) return false;
    kernel.configuration = *known->second;
    return true;
  }

  /// A section is never without an answer that a measured kernel has: adds the kernel that can run the most
  /// problems that no candidate can, of those the fastest where it was measured, until there is none.
  void add_fallbacks(const PortfolioTable& table, DeployedSection& section) {
    std::vector<Problem> open = probes(table, deployment_.kernels[section.candidates.front().kernel].problem);
    for (const DeployedCandidate& candidate : section.candidates) {
      const std::vector<bool> known = recorded_.can_run(deployment_.kernels[candidate.kernel], open);
      std::size_t i = 0;
      std::erase_if(open, [&](const Problem&) { return known[i++]; });
    }
    std::vector<std::pair<double, std::int64_t>> rows;  // by mean regret
    for (const PortfolioKernel& kernel : table.kernels) {
      double sum = 0;
      for (const PortfolioCell& cell : kernel.cells) sum += cell.regret;
      if (!kernel.cells.empty() && kernel.failed_on.empty())
        rows.emplace_back(sum / static_cast<double>(kernel.cells.size()), kernel.row);
    }
    std::ranges::sort(rows);
    // Hundreds of configurations of a template differ in nothing that conditions ask for.
    constexpr std::size_t kMostOfATemplate = 24;
    std::map<Cell, std::size_t> taken;
    std::vector<DeployedKernel> others;
    for (const auto& [regret, row] : rows) {
      if (++taken[database_.cell(row, column_by_name("template"))] > kMostOfATemplate) continue;
      try {
        DeployedKernel kernel = kernel_of(row);
        if (why_not(*kernel.spec).empty()) others.push_back(std::move(kernel));
      } catch (const UserError&) {  // its template is not there any more: others fill the gaps
      }
    }
    std::vector<std::vector<bool>> runs;  // by kernel, and problem that was open at first
    for (const DeployedKernel& kernel : others) runs.push_back(recorded_.can_run(kernel, open));
    std::vector<bool> is_open(open.size(), true);
    const auto gain = [&](const std::vector<bool>& known) {
      std::size_t count = 0;
      for (std::size_t i = 0; i < known.size(); ++i) count += known[i] && is_open[i] ? 1 : 0;
      return count;
    };
    const std::size_t most = most_kernels();
    for (std::size_t next = 0; next < open.size() && section.candidates.size() < most;) {
      const auto best =
          std::ranges::max_element(runs, {}, [&](const std::vector<bool>& known) { return gain(known); });
      DeployedKernel added;
      bool is_unmeasured = false;
      if (best != runs.end() && gain(*best) > 0) {
        added = others[static_cast<std::size_t>(best - runs.begin())];
      } else {  // a template argument that depends on sizes makes another kernel there
        while (next < open.size() && !is_open[next]) ++next;
        if (next == open.size()) return;
        const Problem& problem = open[next];
        is_open[next] = false;
        const auto takes = [&](const DeployedKernel& kernel) {
          added = kernel;
          added.problem = problem;
          return recorded_.can_run(added, problem);
        };
        const auto adapts = [&](const DeployedKernel& kernel) {
          added = kernel;
          added.problem = problem;
          return adapt(added);
        };
        is_unmeasured = std::ranges::none_of(others, takes);
        if (is_unmeasured && std::ranges::none_of(others, adapts)) continue;
      }
      std::size_t more = 0;
      const std::vector<bool> known = recorded_.can_run(added, open);
      for (std::size_t i = 0; i < open.size(); ++i) {
        more += is_open[i] && known[i] ? 1 : 0;
        is_open[i] = is_open[i] && !known[i];
      }
      // A kernel that has a size compiled in answers that size alone, and no number of them is enough. Three
      // times a size has the same divisors that are powers of two.
      Problem tripled = added.problem;
      for (auto& [name, size] : tripled.dimensions) size *= 3;
      const bool is_other = added.problem != RecordedKernels::problem_of(added.row, *added.spec);
      if (is_other && more == 0 && !recorded_.can_run(added, tripled)) continue;
      unmeasured_ += is_unmeasured ? 1 : 0;
      if (const auto kernel = add_kernel(std::move(added))) section.candidates.push_back({*kernel, {}, {}});
    }
  }

  DeployedOperation& operation_of(const DeployedSection& section) {
    const DeployedKernel& kernel = deployment_.kernels[section.candidates.front().kernel];
    const Trial& row = kernel.row;
    const auto [known, is_new] = operations_.try_emplace(
        {row.operation, row.operation_hash, row.element_types, row.options}, deployment_.operations.size());
    if (is_new)
      deployment_.operations.push_back(
          {name_of(row, kernel.spec->operation.name), kernel.spec, kernel.problem, {}});
    return deployment_.operations[known->second];
  }

  /// "gemm_f16_f32_nt": the operation, its types in order without repetition, its options.
  std::string name_of(const Trial& row, const std::string& operation) {
    std::vector<std::string> words{operation};
    for (const std::string& type : split(row.element_types, ' ')) {
      const std::string word = type.substr(type.find(':') + 1);
      if (words.size() == 1 || words.back() != word) words.push_back(word);
    }
    for (const std::string& option : split(row.options, ' '))
      if (!option.empty())
        words.push_back(option.ends_with("=yes") || option.ends_with("=no")
                            ? option
                            : option.substr(option.find('=') + 1));
    std::string name = join(words, "_");
    std::ranges::replace_if(
        name, [](char c) { return !is_identifier_part(c); }, '_');
    name = identifier_of(name);
    std::string unique = name;
    const auto is_it = [&](const DeployedOperation& one) { return one.name == unique; };
    for (int i = 2; std::ranges::any_of(deployment_.operations, is_it); ++i)
      unique = fmt::format("{}_{}", name, i);
    return unique;
  }

  const Database& database_;
  RecordedKernels& recorded_;
  const DeploymentRequest& request_;
  Deployment deployment_;
  std::map<std::filesystem::path, const DeployedSource*> sources_;  ///< by folder of the template
  std::map<std::string, std::size_t> numbers_;                      ///< of kernels
  std::map<std::array<std::string, 4>, std::size_t> operations_;
  std::map<std::pair<const TemplateSpec*, std::string>, std::optional<Configuration>> adapted_;
  std::size_t unmeasured_ = 0;
  std::set<std::string> changed_;
  std::vector<std::string> notes_;
};

}  // namespace

Deployment make_deployment(const Database& database, RecordedKernels& recorded,
                           const DeploymentRequest& request) {
  return Builder(database, recorded, request).build();
}

}  // namespace tiletune
