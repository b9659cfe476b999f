#include "tune/inspection.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "compile/wait.h"

namespace tiletune {

namespace {

class Inspection {
 public:
  Inspection(const TuneSpec& spec, std::vector<Stage>& stages, const std::vector<Target>& targets,
             const CompilePoolOptions& compile)
      : spec_(spec), stages_(stages), targets_(targets), pool_(compile) {
    for (const Stage& stage : stages_) total_ += stage.planned * targets_.size();
  }

  bool step() {
    while (pool_.pending() < 4 * static_cast<std::size_t>(pool_.workers()) && propose()) {
    }
    for (auto& [ticket, compiled] : pool_.take_finished()) finish(ticket, compiled);
    return !exhausted_ || pool_.pending() > 0;
  }

  void wait() const { wait_for_work(pool_); }

  std::size_t done() const { return done_; }
  std::size_t total() const { return total_; }
  /// Rows whose compilations have all ended.
  std::vector<InspectedConfiguration> take() {
    std::set<std::size_t> incomplete;
    for (const auto& [ticket, job] : jobs_) incomplete.insert(job.row);
    std::vector<InspectedConfiguration> complete;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (!incomplete.contains(row)) complete.push_back(std::move(rows_[row]));
    }
    return complete;
  }

 private:
  struct Job {
    std::size_t row;
    std::size_t gpu;
    const Stage* stage;
  };

  bool propose() {
    while (next_stage_ < stages_.size() && stages_[next_stage_].proposed >= stages_[next_stage_].planned)
      ++next_stage_;
    exhausted_ = next_stage_ >= stages_.size();
    if (exhausted_) return false;
    Stage& stage = stages_[next_stage_];
    const auto index = stage.strategy->propose();
    if (!index) {
      stage.planned = stage.proposed;
      return true;
    }
    ++stage.proposed;
    rows_.push_back({stage.spec->name, stage.problem.label(), stage.space.at(*index).named(*stage.spec),
                     std::vector<InspectedOnGpu>(targets_.size())});
    for (std::size_t gpu = 0; gpu < targets_.size(); ++gpu) submit({rows_.size() - 1, gpu, &stage}, *index);
    return true;
  }

  void submit(const Job& job, std::uint64_t index) {
    InspectedOnGpu& result = rows_[job.row].gpus[job.gpu];
    const Target& target = targets_[job.gpu];
    std::string impossible = instantiate(*job.stage, index, target.model, result.instance);
    if (impossible.empty()) impossible = admit_launch(target.model, result.instance).reason;
    if (!impossible.empty()) {
      refuse(result, impossible);
      ++done_;
      return;
    }
    pool_.submit(++tickets_, make_compile_request(*job.stage->spec, spec_.compile, *job.stage->sources,
                                                  result.instance, target.architecture));
    jobs_.emplace(tickets_, job);
  }

  static void refuse(InspectedOnGpu& result, const std::string& reason) {
    result.outcome = Outcome::refused;
    result.reason = reason;
  }

  void finish(std::uint64_t ticket, const Compiled& compiled) {
    const Job job = jobs_.at(ticket);
    jobs_.erase(ticket);
    ++done_;
    InspectedOnGpu& result = rows_[job.row].gpus[job.gpu];
    result.outcome = compiled.outcome;
    result.reason = compiled.reason;
    if (compiled.outcome != Outcome::ok) return;
    try {
      result.resources = read_resources(*compiled.binary);
    } catch (const UserError& error) {
      return refuse(result, error.what());
    }
    const Admission admission =
        admit_binary(targets_[job.gpu].model, result.instance, *result.resources, spec_.limits);
    result.occupancy = admission.occupancy;
    result.warnings = admission.warnings;
    if (!admission.admitted) refuse(result, admission.reason);
  }

  const TuneSpec& spec_;
  std::vector<Stage>& stages_;
  const std::vector<Target>& targets_;
  CompilePool pool_;
  std::vector<InspectedConfiguration> rows_;
  std::unordered_map<std::uint64_t, Job> jobs_;
  std::uint64_t tickets_ = 0;
  std::size_t next_stage_ = 0;
  bool exhausted_ = false;
  std::size_t done_ = 0;
  std::size_t total_ = 0;
};

}  // namespace

std::vector<InspectedConfiguration> inspect_stages(
    const TuneSpec& spec, std::vector<Stage>& stages, const std::vector<Target>& targets,
    const CompilePoolOptions& compile, const std::function<void(std::size_t, std::size_t)>& progress,
    const std::function<bool()>& interrupted) {
  Inspection inspection(spec, stages, targets, compile);
  while (inspection.step() && !interrupted()) {
    progress(inspection.done(), inspection.total());
    inspection.wait();
  }
  return inspection.take();
}

}  // namespace tiletune
