#include "compile/pool.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <deque>
#include <list>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/fields_json.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"
#include "compile/message.h"

namespace tiletune {

namespace {

constexpr std::chrono::seconds kStartTimeout{60};
constexpr int kStartAttempts = 5;
constexpr std::size_t kMostRecentBytes = std::size_t{8} << 20;

Clock::time_point from_now(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

CompilePoolOptions completed(CompilePoolOptions options) {
  if (options.workers <= 0) {
    options.workers = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }
  if (options.program.empty()) options.program = executable_path();
  if (!std::filesystem::is_regular_file(options.program)) {
    throw UserError("the program of the compile workers does not exist", Where{options.program.string(), ""},
                    "Build tiletune again.");
  }
  options.cache_folder = std::filesystem::absolute(options.cache_folder);
  return options;
}

struct QueuedJob {
  std::string identity;  ///< within this pool: the key, and the folders that its files are looked up in
  std::string key;
  CompileRequest request;
  bool worker_was_killed = false;  ///< one that compiled it was, from outside
};

struct Worker {
  enum class State { starting, idle, busy, ended };

  WorkerProcess process;
  State state = State::starting;
  Clock::time_point deadline;    ///< of starting or of the job
  std::optional<QueuedJob> job;  ///< while busy
};

}  // namespace

struct CompilePool::Impl {
  explicit Impl(CompilePoolOptions given)
      : options(completed(std::move(given))), cache(options.cache_folder) {}

  std::optional<Compiled> find(const std::string& key, const KernelSource& source);
  bool submit(CompileRequest request, OnDone on_done);
  void finish(const std::string& identity, const Compiled& compiled);

  void start_workers();
  void start_worker();
  std::vector<int> descriptors() const;
  void send_jobs();
  void send_job(Worker& worker);

  void attend(Worker& worker);
  void receive(Worker& worker);
  void take_reply(Worker& worker, CompileReply reply);
  void enforce_deadline(Worker& worker);
  void lose(Worker& worker, const WorkerEnd& end);
  void drop_ended_workers();

  std::size_t count(Worker::State state) const;
  bool may_start_worker() const;

  CompilePoolOptions options;
  CubinCache cache;
  std::list<Worker> workers;
  std::deque<QueuedJob> queue;
  std::map<std::string, std::vector<OnDone>> waiting;  ///< by identity, for all jobs not yet finished
  RecentResults recent{kMostRecentBytes};              ///< but crashes, which may not happen again
  DependencyCheck dependencies;
  std::vector<std::pair<OnDone, Compiled>> finished;
  std::size_t pending = 0;
  int failed_starts = 0;  ///< in a row
  double cpu_seconds = 0;
};

/// Equal texts in different folders may include different files.
std::string identity_of(const std::string& key, const KernelSource& source) {
  return key + '\n' + source.folders_text();
}

std::optional<Compiled> CompilePool::Impl::find(const std::string& key, const KernelSource& source) {
  const std::string identity = identity_of(key, source);
  auto known = recent.find(identity);
  const bool is_recent = known.has_value();
  if (!known) known = cache.load(key);
  if (!known || !dependencies.holds(source, known->dependencies)) return std::nullopt;
  if (!is_recent) recent.add(identity, *known);
  return known;
}

bool CompilePool::Impl::submit(CompileRequest request, OnDone on_done) {
  ++pending;
  std::string key = request.key();
  std::string identity = identity_of(key, request.source);
  if (const auto in_flight = waiting.find(identity); in_flight != waiting.end()) {
    in_flight->second.push_back(std::move(on_done));
  } else if (auto known = find(key, request.source)) {
    finished.emplace_back(std::move(on_done), std::move(*known));
  } else {
    waiting[identity].push_back(std::move(on_done));
    queue.push_back({std::move(identity), std::move(key), std::move(request)});
    return false;
  }
  return true;
}

void CompilePool::Impl::finish(const std::string& identity, const Compiled& compiled) {
  auto done = waiting.extract(identity);
  for (OnDone& on_done : done.mapped()) finished.emplace_back(std::move(on_done), compiled);
  if (compiled.outcome != Outcome::compile_crashed) recent.add(identity, compiled);
}

std::size_t CompilePool::Impl::count(Worker::State state) const {
  return static_cast<std::size_t>(std::count_if(workers.begin(), workers.end(),
                                                [&](const Worker& worker) { return worker.state == state; }));
}

bool CompilePool::Impl::may_start_worker() const {
  const std::size_t soon_free = count(Worker::State::starting) + count(Worker::State::idle);
  return workers.size() < static_cast<std::size_t>(options.workers) && soon_free < queue.size();
}

void CompilePool::Impl::start_workers() {
  while (may_start_worker()) start_worker();
}

std::vector<int> CompilePool::Impl::descriptors() const {
  std::vector<int> numbers;
  for (const auto& folder : options.folders) numbers.push_back(folder->descriptor());
  return numbers;
}

void CompilePool::Impl::start_worker() {
  Worker& worker =
      workers.emplace_back(Worker{WorkerProcess(options.program, options.arguments, descriptors()),
                                  Worker::State::starting, Clock::now() + kStartTimeout, std::nullopt});
  WorkerSettings settings{{}, options.may_leave, options.must_be_confined, options.max_memory_bytes};
  for (const auto& folder : options.folders) settings.folders.push_back(folder->path().string());
  // A worker that dies before it reads this is noticed when its answer is awaited.
  worker.process.send(to_json(settings));
}

void CompilePool::Impl::send_jobs() {
  for (Worker& worker : workers) {
    if (queue.empty()) return;
    if (worker.state == Worker::State::idle) send_job(worker);
  }
}

void CompilePool::Impl::send_job(Worker& worker) {
  worker.job = std::move(queue.front());
  queue.pop_front();
  worker.state = Worker::State::busy;
  worker.deadline = from_now(options.timeout_s);
  worker.process.take_printed();
  if (!worker.process.send(compile_job(worker.job->request, options.folders)))
    lose(worker, worker.process.reap());
}

void CompilePool::Impl::attend(Worker& worker) {
  try {
    receive(worker);
  } catch (const ProtocolError& error) {
    WorkerEnd end{fmt::format("it broke the protocol: {}", error.what())};
    if (worker.process.gone()) {
      const WorkerEnd seen = worker.process.reap();
      if (seen.from_outside) end = seen;
    }
    worker.process.kill();
    lose(worker, end);
    return;
  }
  if (worker.state == Worker::State::ended) return;
  if (worker.process.gone()) {
    lose(worker, worker.process.reap());
  } else {
    enforce_deadline(worker);
  }
}

void CompilePool::Impl::receive(Worker& worker) {
  while (worker.state != Worker::State::ended) {
    const auto message = worker.process.receive();
    if (!message) return;
    if (worker.state == Worker::State::starting && is_ready_message(*message)) {
      worker.state = Worker::State::idle;
      failed_starts = 0;
    } else {
      take_reply(worker, from_json<CompileReply>(*message));
    }
  }
}

void CompilePool::Impl::take_reply(Worker& worker, CompileReply reply) {
  const bool wanted = worker.state == Worker::State::busy && reply.key == worker.job->key &&
                      (!reply.binary || reply.binary->key == reply.key);
  if (!wanted) throw ProtocolError("an answer arrived that was not asked for");
  QueuedJob done = std::move(*worker.job);
  worker.job.reset();
  worker.state = reply.last ? Worker::State::ended : Worker::State::idle;
  cpu_seconds += reply.cpu_ms / 1e3;
  Compiled compiled{reply.outcome, reply.reason, nullptr, std::move(reply.dependencies)};
  if (reply.binary) {
    compiled.binary = std::make_shared<Binary>(std::move(*reply.binary));
    cache.store(compiled);
  }
  finish(done.identity, compiled);
}

void CompilePool::Impl::enforce_deadline(Worker& worker) {
  const bool has_deadline = worker.state == Worker::State::starting || worker.state == Worker::State::busy;
  if (!has_deadline || Clock::now() < worker.deadline) return;
  worker.process.kill();
  if (worker.state == Worker::State::starting) {
    lose(worker, {fmt::format("not ready after {} s", kStartTimeout.count())});
    return;
  }
  worker.state = Worker::State::ended;
  finish(
      worker.job->identity,
      {Outcome::compile_timeout, fmt::format("not compiled within {:g} s", options.timeout_s), nullptr, {}});
}

void CompilePool::Impl::lose(Worker& worker, const WorkerEnd& end) {
  const Worker::State was = std::exchange(worker.state, Worker::State::ended);
  const std::string printed = printed_text(worker.process.take_printed());
  const std::string how = printed.empty() ? end.how : end.how + ": " + printed;
  if (was == Worker::State::starting && ++failed_starts >= kStartAttempts) {
    throw UserError(
        fmt::format("compile workers do not start: {} in a row ended early ({})", failed_starts, how),
        Where{options.program.string(), ""}, "Check the limits on memory and processes (ulimit -a).");
  }
  if (was != Worker::State::busy) return;
  // Somebody killed it; what it compiled may have nothing to do with that, the first time.
  if (end.from_outside && !std::exchange(worker.job->worker_was_killed, true)) {
    queue.push_front(std::move(*worker.job));
    return;
  }
  const std::string reason =
      fmt::format("lost the compile worker: {}; its memory is limited to {} (--max-compile-memory)", how,
                  human_bytes(options.max_memory_bytes));
  finish(worker.job->identity, {Outcome::compile_crashed, reason, nullptr, {}});
}

void CompilePool::Impl::drop_ended_workers() {
  workers.remove_if([](const Worker& worker) { return worker.state == Worker::State::ended; });
}

CompilePool::CompilePool(CompilePoolOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}

CompilePool::~CompilePool() = default;

std::optional<Compiled> CompilePool::find(const CompileRequest& request) {
  return impl_->find(request.key(), request.source);
}

bool CompilePool::submit(CompileRequest request, OnDone on_done) {
  return impl_->submit(std::move(request), std::move(on_done));
}

std::size_t CompilePool::deliver() {
  for (Worker& worker : impl_->workers) impl_->attend(worker);
  impl_->drop_ended_workers();
  impl_->start_workers();
  impl_->send_jobs();
  impl_->drop_ended_workers();
  const auto finished = std::exchange(impl_->finished, {});
  impl_->pending -= finished.size();
  for (const auto& [on_done, compiled] : finished) on_done(compiled);
  return finished.size();
}

std::size_t CompilePool::pending() const { return impl_->pending; }

int CompilePool::workers() const { return impl_->options.workers; }

std::vector<int> CompilePool::fds() const {
  std::vector<int> list;
  for (const Worker& worker : impl_->workers) {
    if (!worker.process.gone()) list.push_back(worker.process.fd());
  }
  return list;
}

Clock::time_point CompilePool::next_deadline() const {
  const bool has_work = !impl_->queue.empty() && impl_->count(Worker::State::idle) > 0;
  if (!impl_->finished.empty() || has_work || impl_->may_start_worker()) return Clock::now();
  Clock::time_point next = Clock::time_point::max();
  for (const Worker& worker : impl_->workers) {
    if (worker.state == Worker::State::starting || worker.state == Worker::State::busy) {
      next = std::min(next, worker.deadline);
    }
  }
  return next;
}

double CompilePool::compile_cpu_seconds() const { return impl_->cpu_seconds; }

void wait_for_work(const CompilePool& pool, const std::vector<int>& others, Clock::time_point due) {
  using std::chrono::milliseconds;
  constexpr milliseconds kLongestWait{200};
  std::vector<pollfd> descriptors;
  for (const int fd : pool.fds()) descriptors.push_back({fd, POLLIN, 0});
  for (const int fd : others) descriptors.push_back({fd, POLLIN, 0});
  const auto left = std::chrono::ceil<milliseconds>(std::min(due, pool.next_deadline()) - Clock::now());
  const auto timeout = std::clamp(left, milliseconds(0), kLongestWait);
  ::poll(descriptors.data(), descriptors.size(), static_cast<int>(timeout.count()));
}

}  // namespace tiletune
