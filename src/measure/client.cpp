#include "measure/client.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/fields_json.h"
#include "base/printable.h"
#include "base/text.h"
#include "measure/launch_checks.h"

namespace tiletune {

namespace {

Clock::duration seconds(double count) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(count));
}

std::string reason_in(const nlohmann::ordered_json& message) {
  const auto reason = message.find("reason");
  if (reason == message.end() || !reason->is_string()) return "the worker gave no reason";
  return reason->get<std::string>();
}

}  // namespace

GpuClient::GpuClient(GpuClientOptions options) : options_(std::move(options)) {}

GpuClient::~GpuClient() {
  constexpr auto kPatience = std::chrono::seconds(10);
  if (worker_ && idle() && opened_) worker_->reap(kPatience);
}

void GpuClient::start() {
  if (!worker_) worker_.emplace(options_.program, options_.arguments);
}

/// None when the worker is gone, or its time is over.
std::optional<nlohmann::ordered_json> GpuClient::first_message(const Stop& stop) {
  constexpr Clock::duration kBetweenQuestions = std::chrono::milliseconds(100);
  const Clock::time_point deadline = Clock::now() + seconds(options_.open_timeout_s);
  while (true) {
    if (stop()) throw Stopped();
    const Clock::duration left = deadline - Clock::now();
    auto message = worker_->receive(
        std::chrono::duration_cast<std::chrono::milliseconds>(std::min(left, kBetweenQuestions)));
    if (message || worker_->gone() || left <= Clock::duration::zero()) return message;
  }
}

std::optional<GpuOpened> GpuClient::open(const Stop& stop_asked) {
  start();
  try {
    const auto message = first_message(stop_asked);
    if (message && (*message)["type"] == "opened") return opened_ = from_json<GpuOpened>(*message);
    if (!message) {
      std::string why = "the GPU worker did not answer within " + human_seconds(options_.open_timeout_s);
      if (worker_->gone()) {
        why = "the GPU worker " + worker_->reap().how;
        // What it printed may say why.
        if (const std::string printed = printed_text(worker_->take_printed()); !printed.empty())
          why += ": " + printed;
      }
      stop();
      throw GpuError(why);
    }
    why_ = reason_in(*message);
    if ((*message)["type"] != "no_gpu") throw GpuError(why_);
  } catch (const ProtocolError& error) {
    throw GpuError(std::string("the GPU worker sent an invalid message: ") + error.what());
  }
  stop();
  return std::nullopt;
}

void GpuClient::stop() {
  worker_.reset();
  prepared_ = false;
  become_idle();
}

void GpuClient::become_idle() {
  state_ = State::idle;
  deadline_ = Clock::time_point::max();
}

void GpuClient::enter(State state) {
  state_ = state;
  deadline_ = Clock::now() + seconds(patience_s());
}

double GpuClient::patience_s() const {
  if (state_ == State::opening) return options_.open_timeout_s;
  if (state_ == State::preparing && ticket_ == 0) return options_.prepare_timeout_s;
  return problem_->policy.launch_timeout_s + options_.slack_s;
}

void GpuClient::drop_dead_worker() {
  if (!worker_) return;
  try {
    if (worker_->receive() || worker_->gone()) stop();
  } catch (const ProtocolError&) {
    stop();
  }
}

bool GpuClient::ready() {
  drop_dead_worker();
  return worker_ && prepared_;
}

void GpuClient::prepare(PrepareRequest request) {
  problem_ = std::move(request);
  prepare_again();
}

void GpuClient::prepare_again() {
  drop_dead_worker();
  prepared_ = false;
  if (!worker_) {
    start();
    return enter(State::opening);
  }
  send_problem();
}

void GpuClient::send_problem() {
  delivered_ = worker_->send(to_json(*problem_));
  ticket_ = 0;
  enter(State::preparing);
}

void GpuClient::dispatch(const MeasureRequest& request) {
  worker_->take_printed();
  delivered_ = worker_->send(to_json(request));
  ticket_ = request.ticket;
  tolerance_factor_ = request.tolerance_factor;
  enter(State::measuring);
}

void GpuClient::dispatch(const FinalsRequest& request) {
  delivered_ = worker_->send(to_json(request));
  ticket_ = 0;
  finalists_.clear();
  for (const MeasureRequest& finalist : request.finalists)
    finalists_[finalist.ticket] = finalist.tolerance_factor;
  enter(State::running);
}

std::optional<GpuEvent> GpuClient::poll() {
  if (idle() || !worker_) return std::nullopt;
  try {
    return next_event();
  } catch (const ProtocolError& error) {
    const std::string garbage = std::string("sent an invalid message: ") + error.what();
    return worker_->gone() ? lose_gone_worker(garbage) : lose(Outcome::crashed, garbage);
  }
}

std::optional<GpuEvent> GpuClient::next_event() {
  if (!delivered_) return lose(Outcome::crashed, "did not accept its request", true);
  while (const auto message = worker_->receive())
    if (auto event = understand(*message)) return event;
  if (worker_->gone()) return lose_gone_worker("");
  if (Clock::now() < deadline_) return std::nullopt;
  const char* const task = state_ == State::opening     ? "open the GPU"
                           : state_ == State::preparing ? "prepare the problem"
                                                        : "finish a launch";
  return lose(Outcome::timeout, fmt::format("did not {} within {}", task, human_seconds(patience_s())));
}

/// None for what is only a step on the way.
std::optional<GpuEvent> GpuClient::understand(const nlohmann::ordered_json& message) {
  const auto type = message.at("type").get<std::string>();
  if (type == "fatal" || type == "no_gpu") return lose(Outcome::crashed, reason_in(message));
  if (state_ == State::opening) {
    // The driver may have given the GPUs that are left other numbers.
    const auto opened = from_json<GpuOpened>(message);
    if (opened_ && opened.device.uuid != opened_->device.uuid)
      return lose(Outcome::crashed, "opened another GPU, " + opened.device.uuid);
    send_problem();
    return std::nullopt;
  }
  if (type == "alive") return take_sign_of_life(message);
  GpuEvent answer = take_answer(message, type == "prepare_failed");
  become_idle();
  return answer;
}

GpuEvent GpuClient::take_answer(const nlohmann::ordered_json& message, bool failed) {
  if (state_ == State::preparing && failed) return PrepareFailed{reason_in(message)};
  if (state_ == State::preparing) {
    auto prepared = from_json<Prepared>(message);
    prepared_ = true;
    problem_->calibrate = problem_->calibrate && !prepared.calibration;
    return prepared;
  }
  if (state_ == State::running) {
    FinalsMeasured finals = checked_finals(message);
    losses_in_a_row_ = 0;
    return finals;
  }
  auto measured = from_json<Measured>(message);
  if (measured.ticket != ticket_) throw ProtocolError("the answer is for another configuration");
  measured.printed = worker_->take_printed();
  judge(measured, tolerance_factor_);
  losses_in_a_row_ = 0;
  return measured;
}

/// It may say whose turn it is.
std::optional<GpuEvent> GpuClient::take_sign_of_life(const nlohmann::ordered_json& message) {
  const std::optional<std::uint64_t> turn = from_json<Alive>(message).ticket;
  if (state_ == State::preparing && turn) ticket_ = *turn;
  enter(state_);
  if (state_ != State::running || !turn) return std::nullopt;
  if (*turn != 0 && !finalists_.contains(*turn))
    throw ProtocolError("the finals are of other configurations");
  ticket_ = *turn;
  return FinalsTurn{*turn};
}

FinalsMeasured GpuClient::checked_finals(const nlohmann::ordered_json& message) const {
  auto finals = from_json<FinalsMeasured>(message);
  std::set<std::uint64_t> seen;
  for (Measured& time : finals.times) {
    if (time.ticket == 0) continue;
    const auto finalist = finalists_.find(time.ticket);
    if (finalist == finalists_.end() || !seen.insert(time.ticket).second)
      throw ProtocolError("the finals are of other configurations");
    judge(time, finalist->second);
  }
  return finals;
}

/// The worker's verdict stands only with its figures.
void GpuClient::judge(Measured& result, double tolerance_factor) const {
  if (result.outcome != Outcome::ok || !result.accuracy) return;
  result.reason = contradiction(*result.accuracy, *problem_, tolerance_factor);
  if (!result.reason.empty()) result.outcome = Outcome::wrong_result;
}

/// `how` is what was seen of its end, if anything; a signal from outside explains everything else.
WorkerLost GpuClient::lose_gone_worker(const std::string& how) {
  const WorkerEnd end = worker_->reap();
  return lose(Outcome::crashed, how.empty() || end.from_outside ? end.how : how, end.from_outside);
}

WorkerLost GpuClient::lose(Outcome outcome, const std::string& reason, bool without_fault) {
  WorkerLost lost;
  lost.end.ticket = ticket_;
  lost.end.outcome = outcome;
  lost.end.reason = reason;
  if (worker_) lost.end.printed = worker_->take_printed();
  lost.without_fault = without_fault;
  lost.while_opening = state_ == State::opening;
  ++losses_in_a_row_;
  delivered_ = true;
  stop();
  return lost;
}

}  // namespace tiletune
