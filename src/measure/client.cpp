#include "measure/client.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "base/text.h"

namespace tiletune {

namespace {

// A worker reports after every launch; loading a module and comparing results come on top of the launch
// itself.
constexpr double kSlackBeyondLaunch_s = 5;

Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}

std::chrono::milliseconds milliseconds(double count_s) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::duration<double>(count_s));
}

}  // namespace

GpuClient::GpuClient(GpuClientOptions options) : options_(std::move(options)) {}

GpuClient::~GpuClient() {
  constexpr auto kPatience = std::chrono::seconds(10);
  if (worker_ && idle()) worker_->reap(kPatience);
}

std::optional<GpuOpened> GpuClient::open() {
  worker_.emplace(options_.program, options_.arguments);
  state_ = State::idle;
  try {
    const auto message = worker_->receive(milliseconds(options_.open_timeout_s));
    if (message && (*message)["type"] == "opened") return gpu_opened_from_json(*message);
    if (!message) {
      throw GpuError(worker_->gone() ? "the GPU worker " + worker_->reap()
                                     : fmt::format("the GPU worker did not answer within {}",
                                                   human_seconds(options_.open_timeout_s)));
    }
    why_ = message->value("reason", "the worker gave no reason");
    if ((*message)["type"] != "no_gpu") throw GpuError(why_);
  } catch (const ProtocolError& error) {
    throw GpuError(std::string("the GPU worker sent garbage: ") + error.what());
  }
  worker_.reset();
  return std::nullopt;
}

void GpuClient::stop() {
  worker_.reset();
  state_ = State::idle;
  deadline_ = Clock::time_point::max();
}

double GpuClient::patience_s() const {
  if (state_ == State::preparing) return options_.prepare_timeout_s;
  return problem_->policy.launch_timeout_s + kSlackBeyondLaunch_s;
}

void GpuClient::extend_deadline() { deadline_ = Clock::now() + seconds(patience_s()); }

void GpuClient::ensure_worker() {
  if (worker_) return;
  if (losses_in_a_row_ > options_.most_restarts) {
    throw GpuError(fmt::format("the GPU worker was lost {} times in a row, at last because it {}; giving up",
                               losses_in_a_row_, last_loss_));
  }
  ++restarts_;
  if (!open()) throw GpuError("the GPU worker cannot be restarted: " + why_);
}

/// A worker that died, or spoke up, while nothing was asked of it: no configuration is to blame.
void GpuClient::drop_dead_worker() {
  if (!worker_) return;
  try {
    if (worker_->receive() || worker_->gone()) stop();
  } catch (const ProtocolError&) {
    stop();
  }
}

void GpuClient::prepare(PrepareRequest request) {
  problem_ = std::move(request);
  drop_dead_worker();
  ensure_worker();
  worker_->send(to_json(*problem_));
  state_ = State::preparing;
  extend_deadline();
}

void GpuClient::reprepare() {
  ensure_worker();
  worker_->send(to_json(*problem_));
  const Clock::time_point end = Clock::now() + seconds(options_.prepare_timeout_s);
  try {
    while (Clock::now() < end) {
      const auto message = worker_->receive(std::chrono::milliseconds(100));
      if (!message && worker_->gone())
        throw GpuError("the restarted GPU worker was lost: it " + worker_->reap());
      if (!message || (*message)["type"] == "alive") continue;
      if ((*message)["type"] == "prepared") return;
      throw GpuError("the restarted GPU worker cannot prepare the problem again: " +
                     message->value("reason", "it gave no reason"));
    }
  } catch (const ProtocolError& error) {
    throw GpuError(std::string("the restarted GPU worker sent garbage: ") + error.what());
  }
  throw GpuError("the restarted GPU worker did not prepare the problem in time");
}

void GpuClient::dispatch(const MeasureRequest& request) {
  drop_dead_worker();
  if (!worker_) reprepare();
  worker_->send(to_json(request));
  ticket_ = request.ticket;
  state_ = State::measuring;
  extend_deadline();
}

std::optional<GpuEvent> GpuClient::poll() {
  if (state_ == State::idle || !worker_) return std::nullopt;
  try {
    return next_event();
  } catch (const ProtocolError& error) {
    return lose(Outcome::crashed, std::string("sent garbage: ") + error.what());
  }
}

std::optional<GpuEvent> GpuClient::next_event() {
  while (const auto message = worker_->receive()) {
    if ((*message)["type"] != "alive") return understand(*message);
    extend_deadline();
  }
  if (worker_->gone()) return lose(Outcome::crashed, worker_->reap());
  if (Clock::now() >= deadline_) {
    const std::string what = state_ == State::preparing ? "prepare the problem" : "finish a launch";
    return lose(Outcome::timeout, fmt::format("did not {} within {}", what, human_seconds(patience_s())));
  }
  return std::nullopt;
}

GpuEvent GpuClient::understand(const nlohmann::ordered_json& message) {
  const auto type = message.at("type").get<std::string>();
  if (type == "fatal") return lose(Outcome::crashed, message.value("reason", "met an unknown CUDA error"));
  GpuEvent event;
  if (state_ == State::preparing && type == "prepare_failed") {
    event.kind = GpuEvent::Kind::prepare_failed;
    event.reason = message.value("reason", "the worker gave no reason");
  } else if (state_ == State::preparing) {
    event.kind = GpuEvent::Kind::prepared;
    event.prepared = prepared_from_json(message);
  } else {
    event.measured = measured_from_json(message);
    if (event.measured.ticket != ticket_) throw ProtocolError("the answer is for another configuration");
  }
  losses_in_a_row_ = 0;
  state_ = State::idle;
  deadline_ = Clock::time_point::max();
  return event;
}

GpuEvent GpuClient::lose(Outcome outcome, const std::string& reason) {
  GpuEvent event;
  event.kind = GpuEvent::Kind::lost;
  event.reason = reason;
  event.measured.ticket = ticket_;
  event.measured.outcome = outcome;
  event.measured.reason =
      state_ == State::preparing ? "while preparing the problem, the GPU worker " + reason : reason;
  ++losses_in_a_row_;
  last_loss_ = reason;
  stop();
  return event;
}

}  // namespace tiletune
