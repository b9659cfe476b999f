#include <link.h>
#include <stdio_ext.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/confinement.h"
#include "base/fields_json.h"
#include "base/file.h"
#include "base/worker_process.h"
#include "gpu/device.h"
#include "gpu/nvml.h"
#include "measure/baselines.h"
#include "measure/client.h"
#include "measure/device_kernels.h"
#include "measure/finals.h"
#include "measure/gpu_group.h"
#include "measure/input_checks.h"
#include "measure/instruments.h"
#include "measure/libraries.h"
#include "measure/measure_kernel.h"
#include "measure/messages.h"
#include "measure/problem_buffers.h"
#include "measure/timing.h"

namespace tiletune {

namespace fs = std::filesystem;

namespace {

/// Where the libraries of this process lie: others are loaded from beside them.
std::set<fs::path> library_folders() {
  std::set<fs::path> folders;
  const auto add = [](dl_phdr_info* info, std::size_t /*bytes*/, void* to) {
    std::error_code missing;
    const fs::path file = fs::canonical(info->dlpi_name, missing);
    if (!missing) static_cast<std::set<fs::path>*>(to)->insert(file.parent_path());
    return 0;
  };
  ::dl_iterate_phdr(add, &folders);
  return folders;
}

/// Takes from a GPU worker what it does not need once its context is open: writing anywhere but to the GPU's
/// devices, reading homes and temporary folders, but for what `reach` names, starting programs, making
/// sockets. The driver's own threads, which run already, keep their access to files. Nothing is taken under a
/// profiler or a debugger, which lives in the process and writes what it finds, nor where the system cannot
/// confine; where it `must`, std::runtime_error is thrown instead.
void confine_gpu_worker(bool must, const WorkerReach& reach) {
  if (!may_be_confined(must)) return;
  Places read;
  for (const fs::path& folder : library_folders()) read.add(folder);
  for (const char* place : {"/usr", "/lib", "/lib64", "/etc", "/opt", "/proc", "/sys"}) read.add(place);
  read.add(cache_folder());
  for (const fs::path& path : reach.readable) read.add(path);
  Places written;
  for (const char* place : {"/dev/null", "/dev/zero", "/dev/dxg", "/dev/nvidia-caps", "/proc/self"})
    written.add(place);
  std::error_code none;
  for (const auto& entry : fs::directory_iterator("/dev", none))
    if (entry.path().filename().string().starts_with("nvidia")) written.add(entry.path());
  for (const fs::path& path : reach.writable) written.add(path);
  confine({read.numbers(), written.numbers(), true});
}

using Json = nlohmann::ordered_json;
constexpr int kContextRuined = 1;

/// Everything a worker holds while it serves.
class Service {
 public:
  Service(WorkerChannel& channel, const std::vector<int>& devices, bool must_be_confined, WorkerReach reach)
      : channel_(channel),
        must_be_confined_(must_be_confined),
        reach_(std::move(reach)),
        gpu_(devices.front()),
        nvml_(gpu_.facts().uuid) {
    const bool are_there = *std::max_element(devices.begin(), devices.end()) < gpu_.devices();
    if (devices.size() > 1 && are_there)
      group_.emplace(gpu_, std::vector<int>(devices.begin() + 1, devices.end()));
  }

  void announce() {
    GpuOpened opened;
    opened.device = gpu_.facts();
    opened.devices = gpu_.devices();
    opened.driver_version = nvml_.driver_version().value_or("");
    channel_.send(to_json(opened));
  }

  void prepare(const Json& message) {
    try {
      is_preparing_ = true;
      const Prepared done = prepared(from_json<PrepareRequest>(message));
      is_preparing_ = false;
      // Libraries are loaded. Kernels of the harness for further element types come through the cache.
      if (!is_confined_) confine_gpu_worker(must_be_confined_, reach_);
      is_confined_ = true;
      answer(to_json(done));
    } catch (const CudaError& error) {
      if (!error.out_of_memory()) throw;
      refuse(error.what());
    } catch (const GpuError& error) {
      refuse(error.what());
    }
  }

  void measure(const Json& message) {
    const auto request = from_json<MeasureRequest>(message);
    if (!buffers_) throw ProtocolError("asked to measure before anything was prepared");
    const Measured measured = measure_kernel(gpu_, *buffers_, *timer_, nvml_, request, checks_.get());
    // Whatever a faulty kernel wrote must not meet the next one; what comes of it late is still its own
    // fault.
    const bool harmless = has_run(measured.outcome) || measured.outcome == Outcome::launch_failed;
    if (!harmless) {
      heartbeat();
      buffers_->rebuild();
    }
    answer(to_json(measured));
  }

  void run_finals(const Json& message) {
    const auto request = from_json<FinalsRequest>(message);
    if (!buffers_) throw ProtocolError("asked for finals before anything was prepared");
    answer(to_json(tiletune::run_finals(gpu_, *buffers_, *timer_, nvml_, request, baselines_, turn())));
  }

 private:
  /// Tells the parent whose turn it is.
  std::function<void(std::uint64_t ticket)> turn() {
    return [this](std::uint64_t ticket) {
      channel_.send(to_json(Alive{ticket}));
      last_heartbeat_ = Clock::now();
    };
  }

  Prepared prepared(const PrepareRequest& request) {
    buffers_.reset();
    baselines_.clear();
    Prepared prepared;
    if (!kernels_) compile_together(own_kernels_of(request), gpu_.facts());
    if (!kernels_) kernels_.emplace(gpu_);
    if (group_) group_->load(*kernels_);
    if (!timer_) make_timer();
    // Beside another program it would be that program's ceilings too, and kept for good.
    const bool is_alone = read_condition(nvml_, *timer_).neighbours.empty();
    if (request.calibrate && is_alone) {
      prepared.calibration = measure_ceilings(gpu_, timer_->flush());
      timer_->measure_floors(*prepared.calibration);
    }
    heartbeat();
    libraries_.open(request, gpu_, group_ ? &*group_ : nullptr);
    if (group_ && request.needs_nccl) group_->open_nccl();
    const bool needs_group = request.workload.gpus > 1;
    if (needs_group && (!group_ || static_cast<int>(group_->size()) != request.workload.gpus))
      throw ProtocolError("asked for a problem of other GPUs");
    heartbeat();
    buffers_ = std::make_unique<ProblemBuffers>(gpu_, *kernels_, libraries_.reference_of(request), request,
                                                needs_group ? &*group_ : nullptr);
    checks_ =
        std::make_unique<InputChecks>(gpu_, *kernels_, *timer_, libraries_, request.checks, checks_.get());
    heartbeat();
    if (!request.candidates.empty())
      buffers_->use_consensus([this] {
        // Later nobody asks whose turn it is: tickets are those of finalists then.
        const auto alive = [this](std::uint64_t) { heartbeat(); };
        auto outputs = reach_consensus(gpu_, *buffers_, is_preparing_ ? turn() : alive);
        if (is_preparing_) turn()(0);
        return outputs;
      });
    Baselines baselines = measure_baselines(gpu_, *buffers_, *timer_, libraries_);
    prepared.baselines = std::move(baselines.measured);
    baselines_ = std::move(baselines.runnable);
    prepared.note = std::move(baselines.note);
    if (!checks_->note().empty()) prepared.note += (prepared.note.empty() ? "" : "\n") + checks_->note();
    return prepared;
  }

  /// The timer of several GPUs waits for all of them.
  void make_timer() {
    if (!group_) {
      timer_.emplace(gpu_, *kernels_, [this] { heartbeat(); });
      return;
    }
    constexpr int kEmptySamples = 31;
    timer_.emplace(
        gpu_, *kernels_, [this] { heartbeat(); }, [this] { wait_for_all(); });
    GroupLaunches nothing(*group_);
    std::vector<double> times_us;
    for (const Shot& shot :
         timer_->singles({[&](std::size_t) { nothing.launch([] {}); }}, CachePolicy::cold, 1, kEmptySamples))
      times_us.push_back(shot.time_us);
    group_->floor_us = median(times_us);
  }

  /// Where one GPU has failed, others may wait for it for ever, and so would whoever frees their memory.
  void wait_for_all() {
    try {
      group_->wait();
    } catch (const CudaError& error) {
      channel_.send({{"type", "fatal"}, {"reason", error.with("a launch on several GPUs failed").what()}});
      std::_Exit(kContextRuined);
    }
  }

  std::vector<OwnKernels> own_kernels_of(const PrepareRequest& request) const {
    std::vector<OwnKernels> kernels{{&kDeviceKernels}};
    if (request.calibrate)
      for (const OwnKernels& each : ceiling_kernels(gpu_.facts())) kernels.push_back(each);
    std::set<ElementType> types;
    for (const auto& buffer : request.workload.buffers) types.insert(buffer.type);
    for (const ElementType type : types) kernels.push_back({&kTypedKernels, type});
    return kernels;
  }

  /// The parent reads what was printed when it has the answer, or drops it with its next request. Nothing of
  /// it stays in the buffer, neither a line without an end nor what did not fit: the next configuration's
  /// prints are its own.
  void answer(const Json& message) {
    std::fflush(stdout);
    ::__fpurge(stdout);
    std::clearerr(stdout);
    channel_.send(message);
  }

  void refuse(const std::string& reason) {
    checks_.reset();
    buffers_.reset();
    answer({{"type", "prepare_failed"}, {"reason", reason}});
  }

  /// A sign of life between two launches, at most twenty a second.
  void heartbeat() {
    constexpr auto kInterval = std::chrono::milliseconds(50);
    const auto now = Clock::now();
    if (now - last_heartbeat_ < kInterval) return;
    last_heartbeat_ = now;
    channel_.send(to_json(Alive{}));
  }

  WorkerChannel& channel_;
  bool must_be_confined_;
  WorkerReach reach_;
  Gpu gpu_;
  Nvml nvml_;
  std::optional<DeviceKernels> kernels_;
  std::optional<GpuGroup> group_;  ///< of more than one GPU
  std::optional<Timer> timer_;
  Libraries libraries_;
  std::unique_ptr<ProblemBuffers> buffers_;
  std::unique_ptr<InputChecks> checks_;
  std::vector<LibraryWay> baselines_;
  Clock::time_point last_heartbeat_;
  bool is_confined_ = false;
  bool is_preparing_ = false;
};

void serve(WorkerChannel& channel, Service& service) {
  service.announce();
  while (const auto message = channel.receive()) {
    const auto type = message->at("type").get<std::string>();
    if (type == "prepare") {
      service.prepare(*message);
    } else if (type == "measure") {
      service.measure(*message);
    } else if (type == "finals") {
      service.run_finals(*message);
    } else {
      throw ProtocolError("a GPU worker knows no message '" + type + "'");
    }
  }
}

}  // namespace

int run_gpu_worker(const std::vector<int>& devices, bool must_be_confined, const WorkerReach& reach) {
  die_with_parent();
  // A crash takes what is buffered with it.
  std::setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
  WorkerChannel channel;
  try {
    std::unique_ptr<Service> service;
    try {
      service = std::make_unique<Service>(channel, devices, must_be_confined, reach);
    } catch (const NoGpu& error) {
      channel.send({{"type", "no_gpu"}, {"reason", error.what()}});
      return 0;
    } catch (const GpuError& error) {
      channel.send({{"type", "fatal"}, {"reason", error.what()}});
      return kContextRuined;
    }
    serve(channel, *service);
    return 0;
  } catch (const CudaError& error) {
    channel.send({{"type", "fatal"}, {"reason", error.what()}});
    // After a sticky error the driver's own clean-up may hang; the parent reaps this process either way.
    std::_Exit(kContextRuined);
  } catch (const ProtocolError&) {
    return kContextRuined;
  } catch (const std::exception& error) {
    channel.send({{"type", "fatal"}, {"reason", error.what()}});
    std::_Exit(kContextRuined);
  }
}

}  // namespace tiletune
