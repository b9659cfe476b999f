#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "author/check.h"
#include "author/signature.h"
#include "compile/pool.h"
#include "inspect/occupancy.h"

namespace tiletune {

namespace {

/// Configurations that must agree before a template is refused.
constexpr std::size_t kMostWitnesses = 4;
/// Configurations that are tried to find some that can be launched.
constexpr std::uint64_t kMostTried = 64;

/// A kernel that compiles for longer is not checked: the sweep compiles it, too.
constexpr std::chrono::seconds kMostTime{5};

struct Sample {
  const Task* task = nullptr;
  Instance instance;
  CompileRequest request;              ///< of the configuration, or the kernel
  const TaskKernel* kernel = nullptr;  ///< of the operation
};

/// Evenly spread configurations that can be launched, the first ones first.
std::vector<Sample> samples_of(const TuneSpec& spec, const Task& task, const Target& target,
                               std::size_t most) {
  std::vector<Sample> samples;
  const std::uint64_t tried = std::min(task.space.size(), kMostTried);
  for (std::uint64_t i = 0; i < tried && samples.size() < most; ++i) {
    // The first, the last, and so on towards the middle.
    const std::uint64_t index = i % 2 == 0 ? i / 2 : task.space.size() - 1 - i / 2;
    Sample sample{&task, {}, {}, nullptr};
    if (!instantiate(task, index, target.model, sample.instance).empty()) continue;
    if (!admit_launch(target.model, sample.instance).admitted) continue;
    sample.request = make_compile_request(spec.compile, *task.source, sample.instance, target.architecture);
    samples.push_back(std::move(sample));
  }
  return samples;
}

class TypeCheck {
 public:
  TypeCheck(const TuneSpec& spec, const std::vector<Task>& tasks, const Target& target,
            const CompilePoolOptions& compile, const Database& database, const Stop& stop)
      : spec_(spec),
        tasks_(tasks),
        target_(target),
        database_(database),
        stop_(stop),
        pool_(with_folders(compile, spec, tasks)) {}

  std::vector<UserError> run() {
    std::vector<UserError> faults;
    std::vector<Sample> first;
    std::set<std::string> seen;
    for (const Task& task : tasks_) {
      if (!task.source || is_compiled(task.spec->source) || seen.contains(task.spec->label())) continue;
      for (Sample& sample : samples_of(spec_, task, target_, 1)) {
        seen.insert(task.spec->label());
        if (!is_worth_compiling(sample)) continue;
        add_operation_kernels(task, first);
        first.push_back(std::move(sample));
      }
    }
    std::vector<const Task*> suspects;
    const auto found = faults_of(first);
    for (std::size_t i = 0; i < first.size(); ++i) {
      const Faults& some = found[i].second;
      if (first[i].kernel != nullptr)
        faults.insert(faults.end(), some.begin(), some.end());
      else if (!some.empty())
        suspects.push_back(first[i].task);
    }
    for (const Task* const suspect : suspects) {
      for (UserError& fault : common_faults(*suspect)) faults.push_back(std::move(fault));
    }
    return faults;
  }

 private:
  using Faults = std::vector<UserError>;

  /// What is in the cache costs nothing; a source that the database knows was checked before its rows.
  bool is_worth_compiling(const Sample& sample) {
    return pool_.find(types_request(sample.request)) || database_.find_source(sample.request.key()).empty();
  }

  /// Templates of one operation share them.
  void add_operation_kernels(const Task& task, std::vector<Sample>& samples) {
    for (const TaskKernel& kernel : task.kernels) {
      CompileRequest request = kernel_request(spec_, task, kernel, target_.architecture);
      if (kernels_.insert(request.key()).second) samples.push_back({&task, {}, std::move(request), &kernel});
    }
  }

  /// In the order of the samples; none of one whose types are not known.
  std::vector<std::pair<const Task*, Faults>> faults_of(const std::vector<Sample>& samples) {
    std::vector<std::pair<const Task*, Faults>> all;
    for (const Sample& sample : samples) all.emplace_back(sample.task, Faults{});
    // What is not compiled in time is delivered to nobody, though this may be called again: the time and the
    // stop, which end every later wait at once, do not come back.
    for (std::size_t i = 0; i < samples.size(); ++i)
      pool_.submit(types_request(samples[i].request), [&samples, &all, i](const Compiled& compiled) {
        all[i].second = faults_of(samples[i], compiled);
      });
    while (pool_.pending() > 0 && !stop_() && Clock::now() < until_)
      if (pool_.deliver() == 0) wait_for_work(pool_, {}, until_);
    return all;
  }

  static Faults faults_of(const Sample& sample, const Compiled& compiled) {
    Faults faults;
    if (!compiled.binary) return faults;
    const std::vector<std::string>& symbols = compiled.binary->kernel_symbols;
    for (CheckFinding& finding : sample.kernel != nullptr
                                     ? type_faults(*sample.task, *sample.kernel, symbols.front())
                                     : type_faults(*sample.task, sample.instance, symbols))
      if (finding.is_error) faults.push_back(std::move(finding.what));
    return faults;
  }

  /// The faults that all of some configurations have.
  Faults common_faults(const Task& task) {
    std::map<std::string, std::size_t> counts;
    const auto of_each = faults_of(samples_of(spec_, task, target_, kMostWitnesses));
    for (const auto& [ignored, faults] : of_each)
      for (const UserError& fault : faults) ++counts[fault.what()];
    Faults common;
    for (const auto& [ignored, faults] : of_each) {
      for (const UserError& fault : faults) {
        if (counts[fault.what()] != of_each.size()) continue;
        counts[fault.what()] = 0;  // reported once
        common.push_back(fault);
      }
    }
    return common;
  }

  const TuneSpec& spec_;
  const std::vector<Task>& tasks_;
  const Target& target_;
  const Database& database_;
  const Stop& stop_;
  std::set<std::string> kernels_;  ///< of operations: keys of those that are checked
  CompilePool pool_;
  const Clock::time_point until_ = Clock::now() + kMostTime;
};

}  // namespace

std::vector<UserError> sweep_faults(const TuneSpec& spec, const std::vector<Task>& tasks,
                                    const Target& target, const CompilePoolOptions& compile,
                                    const Database& database, const Stop& stop) {
  std::vector<UserError> faults;
  std::set<std::string> reported;
  for (const Task& task : tasks) {
    for (const CheckFinding& finding : buffer_faults(task))
      if (finding.is_error && reported.insert(finding.what.what()).second) faults.push_back(finding.what);
  }
  for (UserError& fault : TypeCheck(spec, tasks, target, compile, database, stop).run())
    faults.push_back(std::move(fault));
  return faults;
}

}  // namespace tiletune
