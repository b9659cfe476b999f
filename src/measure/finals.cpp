#include "measure/finals.h"

#include <fmt/format.h>

#include <numeric>

#include "gpu/stream.h"
#include "measure/loaded_kernel.h"
#include "measure/measure_kernel.h"

namespace tiletune {

namespace {

/// Rounds between two moves of the buffers to fresh memory.
constexpr int kRoundsInPlace = 10;
constexpr std::size_t kBest = 5;
constexpr auto kWarmUp = std::chrono::milliseconds(300);

/// One of those who run: a finalist, the twin or a baseline.
struct Runner {
  Measured result;
  std::unique_ptr<LoadedKernel> kernel;  ///< none of a library
  Subject subject;
  double tolerance_factor = 1;
  double estimate_us = 0;
  Batch batch;  ///< of this epoch, if they are timed in batches

  bool runs() const { return result.outcome == Outcome::ok; }
  void launch() const { subject.launch(0); }
};

class Finals {
 public:
  Finals(Gpu& gpu, ProblemBuffers& buffers, Timer& timer, const FinalsRequest& request,
         const std::vector<LibraryWay>& baselines, const std::function<void(std::uint64_t)>& turn)
      : gpu_(gpu),
        buffers_(buffers),
        timer_(timer),
        policy_(buffers.request().policy),
        turn_(turn),
        verifier_(gpu, buffers, timer),
        random_(policy_.seed),
        longest_us_(request.longest_us) {
    for (const MeasureRequest& finalist : request.finalists) add(finalist, "");
    if (!request.finalists.empty()) add(request.finalists.front(), "twin");
    const std::size_t competing = runners_.size();
    for (const auto& [name, kernel] : request.baselines) add(kernel, name);
    for (const LibraryWay& baseline : baselines) add(baseline);
    finalists_.resize(runners_.size());
    for (std::size_t i = 0; i < runners_.size(); ++i)
      finalists_[i].stays = i == 0 || !runners_[i].result.name.empty();
    for (std::size_t i = competing; i < runners_.size(); ++i) finalists_[i].competes = false;
  }

  void run() {
    for (Runner& runner : runners_) guarded(runner, [&] { verify(runner, 0); });
    estimate();
    warm_up();
    if (batched_) time_in_isolation();
    const int rounds = rounds_for(round_us(), policy_.finals.rounds, longest_us_);
    for (int round = 0; round < rounds; ++round) {
      if (round % kRoundsInPlace == 0) begin_epoch(round > 0);
      run_round(finalists_);
      drop_slow_finalists(finalists_);
      if (are_times_known(finalists_)) break;
    }
    end_epoch();
    for (Runner& runner : runners_) {
      if (!runner.kernel) continue;
      guarded(runner, [&] { verify(runner, 1); });
      guarded(runner, [&] { verify_disturbed(runner); });
    }
  }

  /// The best, the second copy and the baselines, interleaved. What is refused, or takes too long, is left
  /// out.
  void time_in(Regime regime) {
    constexpr double kLongestUs = 1e6, kFewest = 5, kMost = 20;
    const bool needs_copies = regime == Regime::graph || regime == Regime::eager;
    if (regime == Regime::sustained || (needs_copies && buffers_.slices() != nullptr)) return;
    std::vector<Runner*> timed = fastest();
    for (Runner& runner : runners_)
      if (runner.runs() && runner.result.name == "twin") timed.push_back(&runner);
    rebind();
    std::map<Runner*, std::vector<double>> times_us;
    const auto tried = [&](Runner& runner, const auto& body) {
      if (!runner.runs()) return;
      turn_(runner.result.ticket);
      try {
        body();
      } catch (const CudaError& error) {
        if (!error.launch_refused()) throw error.with("the kernel failed in the finals");
        runner.result.warning = fmt::format("not timed {}: {}", name(regime), error.what());
        std::erase(timed, &runner);
      }
    };
    double round_us = 0;
    for (Runner* runner : std::vector(timed)) {
      tried(*runner, [&] {
        const double sample_us =
            runner->estimate_us * (needs_copies ? static_cast<double>(runner->subject.copies()) : 1);
        if (sample_us > kLongestUs) return void(std::erase(timed, runner));
        round_us += sample_us;
        if (regime == Regime::graph) runner->batch = timer_.record_batch(runner->subject);
      });
    }
    const auto rounds = static_cast<int>(std::clamp(kLongestUs / std::max(round_us, 1.0), kFewest, kMost));
    for (int round = 0; round < rounds; ++round) {
      std::shuffle(timed.begin(), timed.end(), random_);
      for (Runner* runner : std::vector(timed))
        tried(*runner, [&] {
          const double time_us = time_once(regime, *runner);
          times_us[runner].push_back(time_us);
        });
    }
    const std::string figure = fmt::format("{}_us", name(regime));
    for (Runner* runner : timed)
      if (!times_us[runner].empty()) runner->result.figures[figure] = median(times_us[runner]);
    end_epoch();
  }

  void sustain(const Nvml& nvml) {
    if (policy_.finals.sustained_s <= 0) return;
    for (Runner* runner : fastest()) {
      guarded(*runner, [&] {
        runner->result.figures.merge(sustained(nvml, *runner));
        judge_alone(*runner, "in the sustained run");
      });
    }
  }

  void time_with_host_copies() {
    if (!policy_.finals.host_copies) return;
    const std::vector<Runner*> timed = fastest();
    std::optional<HostCopies> copies;
    turn_(0);
    try {
      copies.emplace(gpu_, buffers_, timer_);
    } catch (const GpuError& error) {
      for (Runner* runner : timed) runner->result.warning = why_without_copies(error);
      return;
    }
    for (Runner* runner : timed) {
      guarded(*runner, [&] {
        try {
          runner->result.figures["with_copies_us"] = copies->time_us(runner->subject);
        } catch (const CudaError& error) {
          if (!error.launch_refused()) throw;
          runner->result.warning = why_without_copies(error);
          // What was queued before may still use the host's memory.
          timer_.estimate_us([] {});
        }
        judge_alone(*runner, "with copies from and to the host");
      });
    }
  }

  std::vector<Measured> results() {
    std::vector<Measured> results;
    for (std::size_t i = 0; i < runners_.size(); ++i) {
      Measured& result = runners_[i].result;
      Samples& samples = finalists_[i].samples;
      if (samples.clocks_mhz.size() != samples.times_us.size()) samples.clocks_mhz.clear();
      if (!samples.times_us.empty()) result.timing = summarise(std::move(samples));
      results.push_back(std::move(result));
    }
    return results;
  }

 private:
  static std::string why_without_copies(const GpuError& error) {
    return fmt::format("not timed with copies from and to the host: {}", error.what());
  }

  void add(const MeasureRequest& finalist, const std::string& name) {
    Runner& runner = runners_.emplace_back();
    runner.result.name = name;
    runner.result.ticket = name.empty() ? finalist.ticket : 0;
    runner.tolerance_factor = finalist.tolerance_factor;
    guarded(runner, [&] {
      runner.kernel = std::make_unique<LoadedKernel>(gpu_, buffers_, finalist);
      runner.subject = runner.kernel->subject();
      runner.subject.inputs.all = true;
    });
  }

  void add(const LibraryWay& baseline) {
    Runner& runner = runners_.emplace_back();
    runner.result.name = baseline.name;
    runner.subject = baseline.subject;
    runner.subject.inputs.all = true;
  }

  /// A launch that is refused, by the driver or by a library, ends the finals of one finalist alone.
  template <typename Body>
  void guarded(Runner& runner, const Body& body) {
    if (!runner.runs()) return;
    turn_(runner.result.ticket);
    attempt(runner, body);
  }

  /// As guarded(), for work that launches nothing.
  template <typename Body>
  void attempt(Runner& runner, const Body& body) {
    if (!runner.runs()) return;
    try {
      body();
    } catch (const CudaError& error) {
      if (!error.launch_refused()) throw error.with("the kernel failed in the finals");
      runner.result.outcome = error.out_of_memory() ? Outcome::refused : Outcome::launch_failed;
      runner.result.reason = error.what();
    } catch (const Unlaunchable& error) {
      runner.result.outcome = error.outcome();
      runner.result.reason = error.what();
    } catch (const GpuError& error) {
      runner.result.outcome = Outcome::launch_failed;
      runner.result.reason = error.what();
    }
  }

  /// Launches left behind would run in the turn of others: slow ones would exceed the time of one launch
  /// together, and a fault would be another's.
  void launch_and_wait(const Runner& runner) {
    timer_.estimate_us([&] { runner.launch(); });
  }

  void verify(Runner& runner, int variant) {
    if (!policy_.verify || !runner.kernel) return launch_and_wait(runner);
    const auto verdict =
        verifier_.check({[&] { runner.launch(); }, runner.kernel.get()}, runner.tolerance_factor, variant);
    if (!verdict.finding) {
      runner.result.accuracy = verdict.accuracy;
      return;
    }
    runner.result.outcome = verdict.finding->outcome;
    runner.result.reason = verdict.finding->reason;
    // Right before the rounds and wrong after them: the result changes from launch to launch.
    if (variant == 1 && runner.result.outcome == Outcome::wrong_result)
      runner.result.outcome = Outcome::unstable;
    rebuild();
  }

  /// Beside other work, which takes multiprocessors away and shifts blocks in time: a race may show.
  void verify_disturbed(Runner& runner) {
    if (!policy_.verify || buffers_.slices() != nullptr) return;
    constexpr int kLaunches = 4;
    constexpr unsigned kMostWarps = 32, kWarp = 32;
    const auto multiprocessors = static_cast<unsigned>(gpu_.facts().multiprocessors);
    const Stream beside;
    for (int i = 0; i < kLaunches && runner.runs(); ++i) {
      const auto launch = [&] {
        buffers_.kernels().occupy(beside.get(), 1 + static_cast<unsigned>(random_() % multiprocessors),
                                  kWarp * (1 + static_cast<unsigned>(random_() % kMostWarps)), i % 2 == 0,
                                  random_());
        runner.launch();
      };
      const auto verdict = verifier_.check({launch, runner.kernel.get()}, runner.tolerance_factor, i % 2);
      if (!verdict.finding) continue;
      runner.result.outcome =
          verdict.finding->outcome == Outcome::wrong_result ? Outcome::unstable : verdict.finding->outcome;
      runner.result.reason = "correct at first, but beside other work on the GPU: " + verdict.finding->reason;
      rebuild();
    }
  }

  /// Every launch found its inputs, its workspaces and the outputs restored: what is wrong is its own fault.
  /// Whoever wrote elsewhere is found in verify(1).
  void judge_launches() {
    buffers_.checks().settle();
    bool is_damaged = policy_.verify && buffers_.check_surroundings();
    for (Runner& runner : runners_) {
      if (!runner.kernel || !runner.runs()) continue;
      auto finding = policy_.verify ? runner.kernel->check_own_surroundings() : std::nullopt;
      is_damaged |= finding.has_value();
      // It was right before the rounds.
      if (!finding && runner.kernel->tally().wrong > 0)
        finding = {Outcome::unstable, runner.kernel->tally().reason()};
      if (!finding) continue;
      runner.result.outcome = finding->outcome;
      runner.result.reason = finding->reason;
    }
    if (is_damaged) rebuild();
  }

  /// After launches of this kernel alone: damage is its own. Configurations that are tried again on the same
  /// buffers must not be blamed for it.
  void judge_alone(Runner& runner, const std::string& when) {
    if (!policy_.verify || !runner.kernel) return;
    buffers_.checks().settle();
    const LaunchTally& tally = runner.kernel->tally();
    auto finding = runner.kernel->check_surroundings();
    if (!finding && tally.wrong > 0) finding = {Outcome::wrong_result, tally.reason()};
    if (!finding) return;
    const bool changes = finding->outcome == Outcome::wrong_result;
    runner.result.outcome = changes ? Outcome::unstable : finding->outcome;
    runner.result.reason = fmt::format("correct at first, but {}: {}", when, finding->reason);
    rebuild();
  }

  void rebuild() {
    buffers_.rebuild();
    for (Runner& runner : runners_)
      if (runner.kernel) runner.kernel->reset();
    rebind();
  }

  /// The driver may refuse a tensor map of the new addresses.
  void rebind() {
    for (Runner& runner : runners_)
      if (runner.kernel) attempt(runner, [&] { runner.kernel->rebind(); });
  }

  void estimate() {
    double fastest_us = -1;
    for (Runner& runner : runners_) {
      guarded(runner, [&] {
        // A launch that the GPU waits for seems to take some microseconds longer than it does.
        const double crude_us = timer_.estimate_us([&] { runner.launch(); });
        runner.estimate_us = timer_.singles(runner.subject, policy_.cache, crude_us, 1).front().time_us;
      });
      if (runner.runs() && (fastest_us < 0 || runner.estimate_us < fastest_us))
        fastest_us = runner.estimate_us;
    }
    batched_ = fastest_us >= 0 && Timer::needs_batch(policy_, fastest_us, {});
  }

  void time_in_isolation() {
    for (std::size_t i = 0; i < runners_.size(); ++i) {
      Runner& runner = runners_[i];
      guarded(runner, [&] {
        std::vector<double> times_us;
        for (const Shot& shot :
             timer_.singles(runner.subject, policy_.cache, runner.estimate_us, Timer::kIsolatedSamples))
          times_us.push_back(shot.time_us);
        finalists_[i].samples.isolated_us = median(times_us);
      });
    }
  }

  /// The clock settles within some tenths of a second of such work.
  void warm_up() {
    const auto started = std::chrono::steady_clock::now();
    begin_epoch(false);
    std::vector<FinalistSamples> unrecorded(finalists_.size());
    do {
      run_round(unrecorded);
    } while (std::chrono::steady_clock::now() - started < kWarmUp);
  }

  double round_us() const {
    return std::accumulate(runners_.begin(), runners_.end(), 0.0, [this](double sum, const Runner& runner) {
      return sum + runner.estimate_us * (batched_ ? Timer::kBatch : 1);
    });
  }

  /// Before the buffers move: fresh ones would show no damage.
  void end_epoch() {
    for (Runner& runner : runners_) runner.batch = {};
    judge_launches();
  }

  void begin_epoch(bool elsewhere) {
    end_epoch();
    if (elsewhere) buffers_.relocate();
    rebind();
    for (Runner& runner : runners_) {
      guarded(runner, [&] {
        if (!batched_) return launch_and_wait(runner);
        runner.batch = timer_.record_batch(runner.subject);
      });
    }
  }

  void run_round(std::vector<FinalistSamples>& finalists) {
    std::vector<std::size_t> order(runners_.size());
    std::iota(order.begin(), order.end(), 0U);
    std::shuffle(order.begin(), order.end(), random_);
    for (const std::size_t i : order) {
      FinalistSamples& finalist = finalists[i];
      if (!finalist.is_out) guarded(runners_[i], [&] { take(runners_[i], finalist.samples); });
      // Without further samples it would neither let the others be judged nor the rounds end.
      finalist.is_out |= !runners_[i].runs();
    }
  }

  /// One sample; a throttled one is taken again a few times.
  void take(Runner& runner, Samples& samples) {
    constexpr int kMostAttempts = 4;
    Shot shot;
    for (int attempt = 1; attempt <= kMostAttempts; ++attempt) {
      shot = batched_ ? timer_.batches(runner.subject, runner.batch, policy_.cache, 1).front()
                      : timer_.singles(runner.subject, policy_.cache, runner.estimate_us, 1).front();
      if (!shot.clock_mhz || !timer_.clock().is_throttled(*shot.clock_mhz)) break;
      if (attempt < kMostAttempts) ++samples.discarded;
    }
    // Batches differ where memory has no space for as many copies of the buffers after a move.
    if (batched_) samples.batch = std::max(samples.batch, runner.batch.launches);
    samples.times_us.push_back(shot.time_us);
    if (!shot.gpu_times_us.empty()) samples.gpu_times_us.push_back(shot.gpu_times_us);
    if (!shot.clock_mhz) return;
    samples.clocks_mhz.push_back(*shot.clock_mhz);
    timer_.clock().add(*shot.clock_mhz);
  }

  double time_once(Regime regime, const Runner& runner) {
    const Subject& subject = runner.subject;
    if (regime == Regime::eager) return timer_.eager_us(subject);
    if (regime == Regime::graph)
      return timer_.batches(subject, runner.batch, CachePolicy::cold, 1).front().time_us;
    const CachePolicy cache = regime == Regime::warm ? CachePolicy::warm : CachePolicy::cold;
    return timer_.singles(subject, cache, runner.estimate_us, 1).front().time_us;
  }

  /// Short kernels in batches: launched one by one they would wait for the host.
  Figures sustained(const Nvml& nvml, const Runner& runner) {
    const Batch batch = batched_ ? timer_.record_batch(runner.subject) : Batch{nullptr, 1};
    return run_sustained(gpu_, nvml, runner.subject, batch, runner.estimate_us, policy_.finals.sustained_s,
                         [&] { turn_(runner.result.ticket); });
  }

  /// The best finalists, and the baselines.
  std::vector<Runner*> fastest() {
    std::vector<std::pair<double, Runner*>> finalists;
    std::vector<Runner*> chosen;
    for (std::size_t i = 0; i < runners_.size(); ++i) {
      Runner& runner = runners_[i];
      if (!runner.runs() || finalists_[i].samples.times_us.empty() || runner.result.name == "twin") continue;
      if (!finalists_[i].competes) {
        chosen.push_back(&runner);
      } else if (!finalists_[i].is_out) {
        finalists.emplace_back(median(finalists_[i].samples.times_us), &runner);
      }
    }
    std::sort(finalists.begin(), finalists.end());
    for (std::size_t i = 0; i < std::min(finalists.size(), kBest); ++i) chosen.push_back(finalists[i].second);
    return chosen;
  }

  Gpu& gpu_;
  ProblemBuffers& buffers_;
  Timer& timer_;
  const MeasurePolicy& policy_;
  const std::function<void(std::uint64_t)>& turn_;
  Verifier verifier_;
  std::mt19937_64 random_;
  double longest_us_;
  std::vector<Runner> runners_;
  std::vector<FinalistSamples> finalists_;
  bool batched_ = false;
};

}  // namespace

FinalsMeasured run_finals(Gpu& gpu, ProblemBuffers& buffers, Timer& timer, const Nvml& nvml,
                          const FinalsRequest& request, const std::vector<LibraryWay>& baselines,
                          const std::function<void(std::uint64_t ticket)>& turn) {
  const auto started = std::chrono::steady_clock::now();
  Finals finals(gpu, buffers, timer, request, baselines, turn);
  finals.run();
  for (const Regime regime : buffers.request().policy.finals.regimes) finals.time_in(regime);
  finals.sustain(nvml);
  FinalsMeasured measured;
  measured.condition = read_condition(nvml, timer);
  finals.time_with_host_copies();
  measured.times = finals.results();
  const std::chrono::duration<double, std::milli> wall = std::chrono::steady_clock::now() - started;
  measured.wall_ms = wall.count();
  return measured;
}

}  // namespace tiletune
