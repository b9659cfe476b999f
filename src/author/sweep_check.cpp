#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "author/check.h"
#include "author/signature.h"
#include "compile/pool.h"

namespace tiletune {

namespace {

/// Configurations that must agree before a template is refused.
constexpr std::size_t kMostWitnesses = 4;
/// Configurations that are tried to find some that can be launched.
constexpr std::uint64_t kMostTried = 64;

/// A kernel that compiles for longer is not checked: the sweep compiles it, too.
constexpr std::chrono::seconds kMostTime{5};

/// Compares the types of arguments and parameters, as far as time allows.
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
    const std::vector<CheckedBuild> builds = first_builds();
    const std::vector<Faults> found = faults_of(builds);
    Faults faults;
    for (std::size_t i = 0; i < builds.size(); ++i)
      if (builds[i].kernel != nullptr) faults.insert(faults.end(), found[i].begin(), found[i].end());
    for (std::size_t i = 0; i < builds.size(); ++i)
      if (builds[i].kernel == nullptr && !found[i].empty())
        std::ranges::move(common_faults(*builds[i].task), std::back_inserter(faults));
    return faults;
  }

 private:
  using Faults = std::vector<UserError>;

  /// A configuration of each template, and the kernels of operations, which several templates may share.
  std::vector<CheckedBuild> first_builds() {
    std::vector<CheckedBuild> builds;
    std::set<std::string> seen, kernels;
    for (const Task& task : tasks_) {
      if (!task.source || is_compiled(task.spec->source) || seen.contains(task.spec->label())) continue;
      for (CheckedBuild& build : sample_builds(spec_, task, target_, 1, kMostTried)) {
        seen.insert(task.spec->label());
        // What is in the cache costs nothing; a source that the database knows was checked before its rows.
        if (!pool_.find(types_request(build.request)) && !database_.find_source(build.request.key()).empty())
          continue;
        for (const TaskKernel& kernel : task.kernels) {
          CompileRequest request = kernel_request(spec_, task, kernel, target_.architecture);
          if (kernels.insert(request.key()).second)
            builds.push_back({&task, {}, std::move(request), &kernel});
        }
        builds.push_back(std::move(build));
      }
    }
    return builds;
  }

  /// In the order of the builds; none of one whose types are not known.
  std::vector<Faults> faults_of(const std::vector<CheckedBuild>& builds) {
    std::vector<Faults> all(builds.size());
    // What is not compiled in time is delivered to nobody, though this may be called again: the time and the
    // stop, which end every later wait at once, do not come back.
    for (std::size_t i = 0; i < builds.size(); ++i)
      pool_.submit(types_request(builds[i].request), [&builds, &all, i](const Compiled& compiled) {
        for (CheckFinding& finding : type_faults(builds[i], compiled))
          if (finding.is_error) all[i].push_back(std::move(finding.what));
      });
    while (pool_.pending() > 0 && !stop_() && Clock::now() < until_)
      if (pool_.deliver() == 0) wait_for_work(pool_, {}, until_);
    return all;
  }

  /// The faults that all of some configurations have.
  Faults common_faults(const Task& task) {
    std::map<std::string, std::size_t> counts;
    const auto of_each = faults_of(sample_builds(spec_, task, target_, kMostWitnesses, kMostTried));
    Faults common;
    for (const Faults& faults : of_each)
      for (const UserError& fault : faults)
        if (++counts[fault.what()] == of_each.size()) common.push_back(fault);
    return common;
  }

  const TuneSpec& spec_;
  const std::vector<Task>& tasks_;
  const Target& target_;
  const Database& database_;
  const Stop& stop_;
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
