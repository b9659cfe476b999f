#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/confinement.h"
#include "base/fields_json.h"
#include "base/text.h"
#include "base/worker_process.h"
#include "compile/compiler.h"
#include "compile/pool.h"

namespace tiletune {

namespace {

constexpr int kNiceness = 10;

/// A compiler that wants more than `growth_bytes` fails in its allocation instead of taking the machine down.
void limit_memory(std::uint64_t growth_bytes) {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const rlim_t bytes = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)) + growth_bytes;
  const rlimit memory{bytes, bytes};
  ::setrlimit(RLIMIT_AS, &memory);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
}

std::string words_of_this_process;

/// The compiler's back end aborts the process when it gets no memory. While this lives, such an abort sends
/// `frame` over the worker's channel and ends the process; every other abort takes its course.
class LastWords {
 public:
  explicit LastWords(std::string frame) {
    words_of_this_process = std::move(frame);
    struct sigaction action {};
    action.sa_handler = [](int signal) {
      const std::string& words = words_of_this_process;
      // Nothing between a refused allocation and the abort it causes sets errno.
      if (errno == ENOMEM) ::_exit(::write(kWorkerChannelFd, words.data(), words.size()) < 0 ? 1 : 0);
      ::signal(signal, SIG_DFL);
      ::raise(signal);
    };
    ::sigaction(SIGABRT, &action, &abort_before_);
    ::sigaction(SIGSEGV, &action, &fault_before_);
    errno = 0;
  }
  ~LastWords() {
    ::sigaction(SIGABRT, &abort_before_, nullptr);
    ::sigaction(SIGSEGV, &fault_before_, nullptr);
  }
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

 private:
  struct sigaction abort_before_ {};
  struct sigaction fault_before_ {};
};

/// The CUDA toolkit's headers, also where its folder and those in it are full of links to other places.
std::vector<Folder> toolkit_folders() {
  namespace fs = std::filesystem;
  const auto toolkit = cuda_include_folder();
  if (!toolkit) return {};
  std::set<fs::path> places{*toolkit};
  const auto add = [&](const fs::path& name) {
    std::error_code missing;
    const fs::path place = fs::canonical(name, missing);
    if (!missing) places.insert(fs::is_directory(place, missing) ? place : place.parent_path());
  };
  std::error_code error;
  for (auto entry = fs::directory_iterator(*toolkit, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    std::error_code ignored;
    if (entry->is_symlink(ignored)) add(entry->path());
  }
  for (const char* name : {"cuda_fp16.h", "cccl/cuda/barrier", "cccl/cub/cub.cuh", "crt/host_defines.h"})
    add(*toolkit / name);
  return {places.begin(), places.end()};
}

/// From here on the process reads its kernels' folders and the toolkit's headers, and writes nothing but
/// answers.
void confine_compiler(const Folders& folders, const WorkerSettings& settings) {
  if (!may_be_confined(settings.must_be_confined)) return;
  const std::vector<Folder> toolkit = toolkit_folders();
  const Folder everything("/");
  Confinement reach;
  for (const auto& folder : folders) reach.readable.push_back(folder->descriptor());
  for (const Folder& folder : toolkit) reach.readable.push_back(folder.descriptor());
  if (settings.may_leave) reach.readable.push_back(everything.descriptor());
  confine(reach);
}

CompileReply out_of_memory(CompileReply reply, std::uint64_t max_memory_bytes) {
  reply.outcome = Outcome::compile_crashed;
  reply.reason = fmt::format("the compiler needed more than {} of memory; raise --max-compile-memory",
                             human_bytes(max_memory_bytes));
  reply.last = true;  // what the compiler still holds is lost
  return reply;
}

CompileReply work_on(const nlohmann::ordered_json& job, const Folders& folders,
                     std::uint64_t max_memory_bytes) {
  const CompileRequest request = request_of_job(job, folders);
  CompileReply reply;
  reply.key = request.key();
  const LastWords last_words(encode_frame(to_json(out_of_memory(reply, max_memory_bytes))));
  const double started_ms = process_cpu_ms();
  try {
    Compiled compiled = compile_here(request);
    reply.outcome = compiled.outcome;
    reply.reason = std::move(compiled.reason);
    reply.dependencies = std::move(compiled.dependencies);
    if (compiled.binary) reply.binary = *compiled.binary;
  } catch (const std::bad_alloc&) {
    reply = out_of_memory(std::move(reply), max_memory_bytes);
  } catch (const std::runtime_error& error) {
    reply.outcome = Outcome::compile_crashed;
    reply.reason = error.what();
  }
  reply.cpu_ms = process_cpu_ms() - started_ms;
  return reply;
}

int serve(WorkerChannel& channel) {
  const auto first = channel.receive();
  if (!first) return 0;
  const auto settings = from_json<WorkerSettings>(*first);
  Folders folders;
  int descriptor = kFirstInheritedFd;
  for (const std::string& path : settings.folders)
    folders.push_back(std::make_shared<const Folder>(path, Descriptor(descriptor++)));
  // A folder named relative to the working folder, which changes from kernel to kernel, stays what it is.
  if (const auto toolkit = cuda_include_folder()) ::setenv("TILETUNE_CUDA_INCLUDE", toolkit->c_str(), 1);
  // A hit in NVRTC's own cache would look like a fast compilation.
  ::setenv("CUDA_CACHE_DISABLE", "1", 1);
  // Here, where files may still be opened and memory has no limit.
  nvrtc_version();
  has_nvjitlink();
  limit_memory(settings.max_memory_bytes);
  confine_compiler(folders, settings);
  if (!notices_includes())
    throw std::runtime_error("NVRTC " + nvrtc_version() +
                             " opens headers in a way that tiletune does not notice, so that changes of them "
                             "would go unseen: use another version of the CUDA toolkit");
  channel.send(ready_message());
  while (const auto message = channel.receive()) {
    const CompileReply reply = work_on(*message, folders, settings.max_memory_bytes);
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
