#include "compile/pool.h"

#include <fmt/format.h>
#include <poll.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "base/fields_json.h"
#include "base/file.h"
#include "base/printable.h"
#include "base/text.h"

namespace tiletune {

namespace {

constexpr std::chrono::seconds kStartTimeout{60};
constexpr int kStartAttempts = 5;
constexpr std::size_t kMostFailures = 500;

CompilePoolOptions completed(CompilePoolOptions options) {
  if (options.workers <= 0)
    options.workers = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (options.program.empty()) options.program = executable_path();
  if (!std::filesystem::is_regular_file(options.program))
    throw UserError("the program of the compile workers does not exist", Where{options.program.string(), ""},
                    "Build tiletune again.");
  options.cache_folder = std::filesystem::absolute(options.cache_folder);
  return options;
}

/// Equal texts in different folders may include different files.
std::string identity_of(const std::string& key, const KernelSource& source) {
  return key + '\n' + source.folders_text();
}

}  // namespace

CompilePool::CompilePool(CompilePoolOptions options)
    : options_(completed(std::move(options))), cache_(options_.cache_folder) {}

std::optional<Compiled> CompilePool::find(const CompileRequest& request) {
  return find(request.key(), request.source);
}

std::optional<Compiled> CompilePool::find(const std::string& key, const KernelSource& source) {
  const auto failure = failures_.find(identity_of(key, source));
  std::optional<Compiled> known = failure != failures_.end() ? failure->second : cache_.load(key);
  if (!known || !dependencies_.holds(source, known->dependencies)) return std::nullopt;
  return known;
}

bool CompilePool::submit(CompileRequest request, OnDone on_done) {
  ++pending_;
  std::string key = request.key();
  std::string identity = identity_of(key, request.source);
  if (const auto in_flight = waiting_.find(identity); in_flight != waiting_.end()) {
    in_flight->second.push_back(std::move(on_done));
  } else if (auto known = find(key, request.source)) {
    finished_.emplace_back(std::move(on_done), std::move(*known));
  } else {
    waiting_[identity].push_back(std::move(on_done));
    queue_.push_back({std::move(identity), std::move(key), std::move(request)});
    return false;
  }
  return true;
}

void CompilePool::finish(const std::string& identity, const Compiled& compiled) {
  auto done = waiting_.extract(identity);
  for (OnDone& on_done : done.mapped()) finished_.emplace_back(std::move(on_done), compiled);
  failures_.erase(identity);
  if (compiled.outcome == Outcome::ok || compiled.outcome == Outcome::compile_crashed) return;
  if (failures_.size() >= kMostFailures) failures_.clear();
  failures_[identity] = compiled;
}

std::size_t CompilePool::count(Worker::State state) const {
  return static_cast<std::size_t>(std::count_if(workers_.begin(), workers_.end(),
                                                [&](const Worker& worker) { return worker.state == state; }));
}

bool CompilePool::may_start_worker() const {
  const std::size_t soon_free = count(Worker::State::starting) + count(Worker::State::idle);
  return workers_.size() < static_cast<std::size_t>(options_.workers) && soon_free < queue_.size();
}

void CompilePool::start_worker() {
  WorkerSettings settings{{}, options_.may_leave, options_.must_be_confined, options_.max_memory_bytes};
  std::vector<int> descriptors;
  for (const auto& folder : options_.folders) {
    settings.folders.push_back(folder->path().string());
    descriptors.push_back(folder->descriptor());
  }
  Worker& worker =
      workers_.emplace_back(Worker{WorkerProcess(options_.program, options_.arguments, descriptors),
                                   Worker::State::starting, Clock::now() + kStartTimeout, std::nullopt});
  // A worker that dies before it reads this is noticed when its answer is awaited.
  worker.process.send(to_json(settings));
}

void CompilePool::send_jobs() {
  for (Worker& worker : workers_) {
    if (queue_.empty()) return;
    if (worker.state != Worker::State::idle) continue;
    worker.job = std::move(queue_.front());
    queue_.pop_front();
    worker.state = Worker::State::busy;
    worker.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                         std::chrono::duration<double>(options_.timeout_s));
    worker.process.take_printed();
    if (!worker.process.send(compile_job(worker.job->request, options_.folders)))
      lose(worker, worker.process.reap());
  }
}

void CompilePool::attend(Worker& worker) {
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

void CompilePool::receive(Worker& worker) {
  while (worker.state != Worker::State::ended) {
    const auto message = worker.process.receive();
    if (!message) return;
    if (worker.state == Worker::State::starting && is_ready_message(*message)) {
      worker.state = Worker::State::idle;
      failed_starts_ = 0;
    } else {
      take_reply(worker, from_json<CompileReply>(*message));
    }
  }
}

void CompilePool::take_reply(Worker& worker, CompileReply reply) {
  const bool wanted = worker.state == Worker::State::busy && reply.key == worker.job->key &&
                      (!reply.binary || reply.binary->key == reply.key);
  if (!wanted) throw ProtocolError("an answer arrived that was not asked for");
  Job done = std::move(*worker.job);
  worker.job.reset();
  worker.state = reply.last ? Worker::State::ended : Worker::State::idle;
  cpu_seconds_ += reply.cpu_ms / 1e3;
  Compiled compiled{reply.outcome, reply.reason, nullptr, std::move(reply.dependencies)};
  if (reply.binary) {
    compiled.binary = std::make_shared<Binary>(std::move(*reply.binary));
    cache_.store(compiled);
  }
  finish(done.identity, compiled);
}

void CompilePool::enforce_deadline(Worker& worker) {
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
      {Outcome::compile_timeout, fmt::format("not compiled within {:g} s", options_.timeout_s), nullptr, {}});
}

void CompilePool::lose(Worker& worker, const WorkerEnd& end) {
  const Worker::State was = std::exchange(worker.state, Worker::State::ended);
  const std::string printed = printed_text(worker.process.take_printed());
  const std::string how = printed.empty() ? end.how : end.how + ": " + printed;
  if (was == Worker::State::starting && ++failed_starts_ >= kStartAttempts)
    throw UserError(
        fmt::format("compile workers do not start: {} in a row ended early ({})", failed_starts_, how),
        Where{options_.program.string(), ""}, "Check the limits on memory and processes (ulimit -a).");
  if (was != Worker::State::busy) return;
  // Somebody killed it; what it compiled may have nothing to do with that, the first time.
  if (end.from_outside && !std::exchange(worker.job->worker_was_killed, true)) {
    queue_.push_front(std::move(*worker.job));
    return;
  }
  const std::string reason =
      fmt::format("lost the compile worker: {}; its memory is limited to {} (--max-compile-memory)", how,
                  human_bytes(options_.max_memory_bytes));
  finish(worker.job->identity, {Outcome::compile_crashed, reason, nullptr, {}});
}

std::size_t CompilePool::deliver() {
  const auto drop_ended = [&] {
    workers_.remove_if([](const Worker& worker) { return worker.state == Worker::State::ended; });
  };
  for (Worker& worker : workers_) attend(worker);
  drop_ended();
  while (may_start_worker()) start_worker();
  send_jobs();
  drop_ended();
  const auto finished = std::exchange(finished_, {});
  pending_ -= finished.size();
  for (const auto& [on_done, compiled] : finished) on_done(compiled);
  return finished.size();
}

std::vector<int> CompilePool::fds() const {
  std::vector<int> list;
  for (const Worker& worker : workers_)
    if (!worker.process.gone()) list.push_back(worker.process.fd());
  return list;
}

Clock::time_point CompilePool::next_deadline() const {
  const bool has_work = !queue_.empty() && count(Worker::State::idle) > 0;
  if (!finished_.empty() || has_work || may_start_worker()) return Clock::now();
  Clock::time_point next = Clock::time_point::max();
  for (const Worker& worker : workers_) {
    if (worker.state == Worker::State::starting || worker.state == Worker::State::busy)
      next = std::min(next, worker.deadline);
  }
  return next;
}

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
