#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <list>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fields.h"
#include "base/worker_process.h"
#include "compile/cache.h"
#include "compile/request.h"

namespace tiletune {

/// What the pool and its workers say to each other, as JSON by its lists of fields (base/fields_json.h).

/// First to a worker, which answers {"type": "ready"}.
struct WorkerSettings {
  std::vector<std::string> folders;    ///< paths of those that it inherited open, in their order
  bool may_leave = false;              ///< kernels may include files outside of them
  bool must_be_confined = false;       ///< a worker that cannot be confined ends instead
  std::uint64_t max_memory_bytes = 0;  ///< growth of its address space from here on

  static constexpr std::string_view kMessage = "settings";
  static constexpr auto fields() {
    using S = WorkerSettings;
    return fields_of<&S::folders, &S::may_leave, &S::must_be_confined, &S::max_memory_bytes>();
  }
};

struct CompileReply {
  std::string key;
  Outcome outcome = Outcome::ok;
  std::string reason;
  double cpu_ms = 0;
  bool last = false;             ///< the worker ends after this reply
  std::optional<Binary> binary;  ///< when the outcome is ok
  Dependencies dependencies;

  static constexpr std::string_view kMessage = "compiled";
  static constexpr auto fields() {
    using R = CompileReply;
    return fields_of<&R::key, &R::outcome, &R::reason, &R::cpu_ms, &R::last, &R::binary, &R::dependencies>();
  }
  std::string fault() const {
    const bool compiled = outcome == Outcome::ok;
    if (!compiled && outcome != Outcome::compile_failed && outcome != Outcome::compile_crashed)
      return "the outcome is not one of a compile worker";
    return binary.has_value() == compiled ? "" : "an answer has a binary if and only if it compiled";
  }
};

nlohmann::ordered_json ready_message();
bool is_ready_message(const nlohmann::ordered_json& message);

/// The message that asks for a binary. Throws std::logic_error for a kernel's folder that is not among
/// `folders`.
nlohmann::ordered_json compile_job(const CompileRequest& request, const Folders& folders);
/// Throws ProtocolError, also for a folder that does not exist.
CompileRequest request_of_job(const nlohmann::ordered_json& json, const Folders& folders);

struct CompilePoolOptions {
  int workers = 0;                                          ///< 0: one per core
  double timeout_s = 60;                                    ///< per request, wall time
  std::uint64_t max_memory_bytes = std::uint64_t{4} << 30;  ///< address-space growth allowed to one worker
  std::filesystem::path cache_folder;                       ///< of the cubin cache
  Folders folders;                ///< of all kernels that will be submitted; all that workers may read
  bool may_leave = false;         ///< workers may read any file
  bool must_be_confined = false;  ///< workers that cannot be confined do not start
  std::filesystem::path program;  ///< of the workers; empty: the running executable
  std::vector<std::string> arguments{"compile-worker"};  ///< with which `program` is a compile worker
};

/// Compiles requests in worker processes. Single-threaded: nothing happens between calls, apart from the
/// workers' own progress. A worker that crashes, hangs or grows too large costs the request it was working
/// on, and is replaced. Workers write nothing but their answers: where the system can confine them, they can
/// do nothing else.
class CompilePool {
 public:
  explicit CompilePool(CompilePoolOptions options);
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;

  /// What is known already of a request, and still holds: a binary from the cache, or that compiling it
  /// failed or timed out.
  std::optional<Compiled> find(const CompileRequest& request);

  using OnDone = std::function<void(const Compiled&)>;
  /// Queues a request; deliver() calls `on_done` with what came of it. What find() knows is delivered next
  /// time without a worker; equal keys in flight are compiled once. True when nothing more has to be
  /// compiled.
  bool submit(CompileRequest request, OnDone on_done);

  /// Reads from workers, starts queued requests, enforces deadlines; never blocks. Calls the `on_done` of
  /// each request that has finished, and returns how many these were. Throws UserError when workers cannot be
  /// started.
  std::size_t deliver();

  /// Submitted and not yet delivered.
  std::size_t pending() const { return pending_; }
  int workers() const { return options_.workers; }

  /// Descriptors to poll for POLLIN, and the time at which deliver() is due even when none is ready.
  std::vector<int> fds() const;
  Clock::time_point next_deadline() const;

  /// CPU seconds spent compiling so far, over all workers.
  double compile_cpu_seconds() const { return cpu_seconds_; }

 private:
  struct Job {
    std::string identity;  ///< within this pool: the key, and the folders that its files are looked up in
    std::string key;
    CompileRequest request;
    bool worker_was_killed = false;  ///< one that compiled it was, from outside
  };
  struct Worker {
    enum class State { starting, idle, busy, ended };

    WorkerProcess process;
    State state = State::starting;
    Clock::time_point deadline;  ///< of starting or of the job
    std::optional<Job> job;      ///< while busy
  };

  std::optional<Compiled> find(const std::string& key, const KernelSource& source);
  void finish(const std::string& identity, const Compiled& compiled);
  void start_worker();
  void send_jobs();
  void attend(Worker& worker);
  void receive(Worker& worker);
  void take_reply(Worker& worker, CompileReply reply);
  void enforce_deadline(Worker& worker);
  void lose(Worker& worker, const WorkerEnd& end);
  std::size_t count(Worker::State state) const;
  bool may_start_worker() const;

  CompilePoolOptions options_;
  CubinCache cache_;
  std::list<Worker> workers_;
  std::deque<Job> queue_;
  std::map<std::string, std::vector<OnDone>> waiting_;  ///< by identity, for all jobs not yet finished
  std::map<std::string, Compiled> failures_;  ///< by identity; without crashes, which may not happen again
  DependencyCheck dependencies_;
  std::vector<std::pair<OnDone, Compiled>> finished_;
  std::size_t pending_ = 0;
  int failed_starts_ = 0;  ///< in a row
  double cpu_seconds_ = 0;
};

/// The body of the hidden `compile-worker` subcommand; returns the exit code.
int run_compile_worker();

/// Compiles in this process (used by the workers, and for the harness's own kernels).
Compiled compile_here(const CompileRequest& request);

/// The NVRTC that is loaded: "13.0". Throws UserError when there is none.
std::string nvrtc_version();
/// The nvJitLink that is loaded: "13.0". Throws UserError when there is none.
const std::string& nvjitlink_version();

/// Sleeps until a compile worker or one of the descriptors `others` has something to say, until the pool is
/// due or `due` has come; a moment at most, so that the caller notices signals.
void wait_for_work(const CompilePool& pool, const std::vector<int>& others = {},
                   Clock::time_point due = Clock::time_point::max());

}  // namespace tiletune
