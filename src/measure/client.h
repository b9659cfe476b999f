#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "base/stop.h"
#include "base/worker_process.h"
#include "measure/messages.h"

namespace tiletune {

struct GpuClientOptions {
  std::filesystem::path program;       ///< the executable that holds the worker
  std::vector<std::string> arguments;  ///< {"gpu-worker", "0"}
  double open_timeout_s = 60;          ///< starting the driver and its context
  double prepare_timeout_s = 120;      ///< buffers, reference and baseline of one problem
  /// Beyond the time limit of a launch, after each of which a worker reports: for loading a module and
  /// comparing results.
  double slack_s = 5;
};

/// The problem cannot be prepared, and the worker lives.
struct PrepareFailed {
  std::string reason;
};

/// Finals have come to a finalist.
struct FinalsTurn {
  std::uint64_t ticket = 0;  ///< 0: a baseline or the second copy
};

/// A worker died, hung or sent garbage.
struct WorkerLost {
  Measured
      end;  ///< ticket of what was measured, or whose turn it was; outcome crashed or timeout; the reason
  bool without_fault = false;  ///< what it was given had no part in that
  bool while_opening = false;  ///< it never came to the problem
};

/// What a GPU worker answered, or that it was lost.
using GpuEvent = std::variant<Prepared, PrepareFailed, Measured, FinalsTurn, FinalsMeasured, WorkerLost>;

/// The parent's end of one GPU worker. One request at a time; poll() never blocks.
class GpuClient {
 public:
  explicit GpuClient(GpuClientOptions options);
  /// An idle worker ends by itself, so that the driver frees its memory in order; one that is busy, or was
  /// never opened, is killed.
  ~GpuClient();
  GpuClient(const GpuClient&) = delete;
  GpuClient& operator=(const GpuClient&) = delete;

  /// Starts the worker, if there is none, without waiting for it.
  void start();
  /// Waits for the GPU of a worker, which is started if need be. None, with the reason in why(), when the
  /// machine has no GPU. Throws GpuError when it has one that cannot be opened, and Stopped once `stop` says
  /// so.
  std::optional<GpuOpened> open(const Stop& stop = never_stop);
  const std::string& why() const { return why_; }

  /// Needs an idle client. Where the worker was lost, another is started first; its failure to open is a
  /// loss too.
  void prepare(PrepareRequest request);
  /// Prepares the problem prepared last.
  void prepare_again();
  /// Whether the worker lives and holds the problem prepared last. It may have been lost since, without being
  /// asked anything: no configuration is to blame for that.
  bool ready();
  /// Needs ready().
  void dispatch(const MeasureRequest& request);
  /// Needs ready().
  void dispatch(const FinalsRequest& request);

  bool idle() const { return state_ == State::idle; }
  bool measuring() const { return state_ == State::measuring; }
  std::optional<GpuEvent> poll();
  /// To poll for POLLIN; -1 while nothing is asked of a worker.
  int fd() const { return worker_ && !idle() ? worker_->fd() : -1; }
  /// When poll() is due even if nothing arrives.
  Clock::time_point deadline() const { return deadline_; }

  /// Kills the worker.
  void stop();
  /// Losses since the last measurement.
  int losses_in_a_row() const { return losses_in_a_row_; }

 private:
  enum class State { idle, opening, preparing, measuring, running };

  void drop_dead_worker();
  void send_problem();
  void enter(State state);
  void become_idle();
  std::optional<nlohmann::ordered_json> first_message(const Stop& stop);
  std::optional<GpuEvent> next_event();
  std::optional<GpuEvent> understand(const nlohmann::ordered_json& message);
  GpuEvent take_answer(const nlohmann::ordered_json& message, bool failed);
  std::optional<GpuEvent> take_sign_of_life(const nlohmann::ordered_json& message);
  FinalsMeasured checked_finals(const nlohmann::ordered_json& message) const;
  void judge(Measured& result, double tolerance_factor) const;
  WorkerLost lose(Outcome outcome, const std::string& reason, bool without_fault = false);
  WorkerLost lose_gone_worker(const std::string& how);
  double patience_s() const;

  GpuClientOptions options_;
  std::optional<WorkerProcess> worker_;
  std::optional<GpuOpened> opened_;  ///< by the first worker
  std::optional<PrepareRequest> problem_;
  bool prepared_ = false;  ///< the worker holds problem_
  State state_ = State::idle;
  std::uint64_t ticket_ = 0;     ///< of what is measured, or whose turn it is; 0: of nothing of these
  double tolerance_factor_ = 1;  ///< of what is measured
  std::map<std::uint64_t, double> finalists_;  ///< tolerance factors of the finals, by ticket
  bool delivered_ = true;                      ///< the last request has reached its worker
  Clock::time_point deadline_ = Clock::time_point::max();
  int losses_in_a_row_ = 0;
  std::string why_;
};

/// Files and folders that a confined GPU worker needs besides the system's.
struct WorkerReach {
  std::set<std::filesystem::path> readable;
  std::set<std::filesystem::path> writable;
};

/// The body of the hidden `gpu-worker` subcommand: holds one GPU, or several that compute problems together,
/// prepares problems and measures configurations as the parent asks over the channel. It announces the first
/// of several; where others are not there, it can do no more than that. With `must_be_confined` it ends where
/// the system cannot confine it; what lies in `reach` stays within its reach. Returns the exit code.
int run_gpu_worker(const std::vector<int>& devices, bool must_be_confined, const WorkerReach& reach);

}  // namespace tiletune
