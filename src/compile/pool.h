#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/worker_process.h"
#include "compile/binary.h"
#include "compile/cache.h"
#include "compile/request.h"

namespace tiletune {

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
  ~CompilePool();
  CompilePool(const CompilePool&) = delete;
  CompilePool& operator=(const CompilePool&) = delete;

  /// What is known already of a request, and still holds: from the cache, or from lately, when it may also
  /// have failed or timed out.
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
  std::size_t pending() const;
  int workers() const;

  /// Descriptors to poll for POLLIN, and the time at which deliver() is due even when none is ready.
  std::vector<int> fds() const;
  Clock::time_point next_deadline() const;

  /// CPU seconds spent compiling so far, over all workers.
  double compile_cpu_seconds() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The body of the hidden `compile-worker` subcommand; returns the exit code.
int run_compile_worker();

/// Compiles in this process (used by the workers, and for the harness's own kernels).
Compiled compile_here(const CompileRequest& request);

/// The NVRTC that is loaded: "13.0". Throws UserError when there is none.
std::string nvrtc_version();

/// Sleeps until a compile worker or one of the descriptors `others` has something to say, until the pool is
/// due or `due` has come; a moment at most, so that the caller notices signals.
void wait_for_work(const CompilePool& pool, const std::vector<int>& others = {},
                   Clock::time_point due = Clock::time_point::max());

}  // namespace tiletune
