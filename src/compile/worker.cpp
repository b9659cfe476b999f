#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>

#include "compile/message.h"
#include "compile/nvrtc_program.h"
#include "compile/out_of_memory.h"
#include "compile/pool.h"

namespace tiletune {

namespace {

constexpr int kNiceness = 10;

std::uint64_t address_space_bytes() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

/// A compiler that wants more than `growth_bytes` fails in its allocation instead of taking the machine down.
void limit_memory(std::uint64_t growth_bytes) {
  const rlim_t bytes = address_space_bytes() + growth_bytes;
  const rlimit memory{bytes, bytes};
  ::setrlimit(RLIMIT_AS, &memory);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
}

/// Keeps what NVRTC sees free of the place and the history of the run.
void isolate_compiler() {
  // NVRTC adds the working folder to the include path.
  if (::chdir("/") != 0) throw std::runtime_error("cannot change to the root folder");
  // A hit in NVRTC's own cache would come without ptxas' resource lines and look like a fast compilation.
  ::setenv("CUDA_CACHE_DISABLE", "1", 1);
}

class CompileWorker {
 public:
  explicit CompileWorker(const WorkerSettings& settings)
      : cache_(settings.cache_folder), max_memory_bytes_(settings.max_memory_bytes) {}

  CompileReply work_on(const CompileJob& job) const {
    CompileReply reply;
    reply.key = job.request.key();
    const LastWords last_words(encode_frame(to_json(out_of_memory(reply))));
    if (auto binary = cache_.load(reply.key)) {
      reply.from_cache = true;
      if (job.return_binary) reply.binary = std::move(binary);
    } else {
      const double started_ms = process_cpu_ms();
      compile(job, reply);
      reply.cpu_ms = process_cpu_ms() - started_ms;
    }
    return reply;
  }

 private:
  CompileReply out_of_memory(CompileReply reply) const {
    reply.outcome = Outcome::compile_crashed;
    reply.reason = out_of_memory_reason(max_memory_bytes_);
    reply.last = true;  // what the compiler still holds is lost
    return reply;
  }

  void compile(const CompileJob& job, CompileReply& reply) const {
    try {
      const Compiled compiled = compile_here(job.request);
      reply.outcome = compiled.outcome;
      reply.reason = compiled.reason;
      if (!compiled.binary) return;
      if (!cache_.store(*compiled.binary) || job.return_binary) reply.binary = *compiled.binary;
    } catch (const std::bad_alloc&) {
      reply = out_of_memory(std::move(reply));
    } catch (const std::runtime_error& error) {
      reply.outcome = Outcome::compile_crashed;
      reply.reason = error.what();
    }
  }

  CubinCache cache_;
  std::uint64_t max_memory_bytes_;
};

int serve(WorkerChannel& channel) {
  const auto first = channel.receive();
  if (!first) return 0;
  const WorkerSettings settings = worker_settings_from_json(*first);
  isolate_compiler();
  limit_memory(settings.max_memory_bytes);
  const CompileWorker worker(settings);
  channel.send(ready_message());
  while (const auto message = channel.receive()) {
    const CompileReply reply = worker.work_on(compile_job_from_json(*message));
    channel.send(to_json(reply));
    if (reply.last) break;
  }
  return 0;
}

}  // namespace

int run_compile_worker() {
  die_with_parent();
  // There is a worker on every core: whoever feeds a GPU comes first.
  ::setpriority(PRIO_PROCESS, 0, kNiceness);
  try {
    WorkerChannel channel;
    return serve(channel);
  } catch (const std::exception& error) {
    fmt::print(stderr, "compile worker: {}\n", error.what());
    return 1;
  }
}

}  // namespace tiletune
