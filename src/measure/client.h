#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/worker_process.h"
#include "measure/messages.h"

namespace tiletune {

struct GpuClientOptions {
  std::filesystem::path program;       ///< the executable that holds the worker
  std::vector<std::string> arguments;  ///< {"gpu-worker", "0"}
  double open_timeout_s = 60;          ///< starting the driver and its context
  double prepare_timeout_s = 120;      ///< buffers, reference and baseline of one problem
  int most_restarts = 100;             ///< in a row, without a measurement in between
};

/// What a GPU worker answered, or that it was lost.
struct GpuEvent {
  enum class Kind {
    prepared,
    prepare_failed,  ///< `reason`; the worker lives
    measured,
    lost  ///< died, hung or sent garbage; `measured` has outcome crashed or timeout and the reason
  };
  Kind kind = Kind::measured;
  Prepared prepared;
  Measured measured;
  std::string reason;
};

/// The parent's end of one GPU worker. One request at a time; poll() never blocks. A worker that is lost is
/// started anew, with the current problem prepared again, when the next request comes.
class GpuClient {
 public:
  explicit GpuClient(GpuClientOptions options);
  /// An idle worker ends by itself, so that the driver frees its memory in order; a busy one is killed.
  ~GpuClient();
  GpuClient(const GpuClient&) = delete;
  GpuClient& operator=(const GpuClient&) = delete;

  /// Starts the worker and waits for its GPU. None, with the reason in why(), when the machine has none.
  /// Throws GpuError when it has one that cannot be opened.
  std::optional<GpuOpened> open();
  const std::string& why() const { return why_; }

  /// Both need an idle client. Throw GpuError when restarting fails or was needed too often in a row.
  void prepare(PrepareRequest request);
  void dispatch(const MeasureRequest& request);

  bool idle() const { return state_ == State::idle; }
  std::optional<GpuEvent> poll();
  /// To poll for POLLIN; -1 while nothing is asked of a worker.
  int fd() const { return worker_ && !idle() ? worker_->fd() : -1; }
  /// When poll() is due even if nothing arrives.
  Clock::time_point deadline() const { return deadline_; }

  /// Kills the worker; the next request starts another.
  void stop();
  int restarts() const { return restarts_; }

 private:
  enum class State { idle, preparing, measuring };

  void drop_dead_worker();
  void ensure_worker();
  void reprepare();
  std::optional<GpuEvent> next_event();
  GpuEvent understand(const nlohmann::ordered_json& message);
  GpuEvent lose(Outcome outcome, const std::string& reason);
  void extend_deadline();
  double patience_s() const;

  GpuClientOptions options_;
  std::optional<WorkerProcess> worker_;
  std::optional<PrepareRequest> problem_;
  State state_ = State::idle;
  std::uint64_t ticket_ = 0;
  Clock::time_point deadline_ = Clock::time_point::max();
  int losses_in_a_row_ = 0;
  int restarts_ = 0;
  std::string last_loss_;
  std::string why_;
};

}  // namespace tiletune
