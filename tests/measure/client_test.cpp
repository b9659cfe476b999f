#include "measure/client.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <filesystem>
#include <variant>

#include "base/folder.h"
#include "carries.h"

namespace tiletune {
namespace client_test {

const std::string kFakeWorker = std::string(TILETUNE_BINARY_DIR) + "/fake_gpu_worker";

GpuClientOptions fake(const std::string& mode, std::uint64_t strikes_at = 1) {
  GpuClientOptions options;
  options.program = kFakeWorker;
  options.arguments = {"0", mode, std::to_string(strikes_at)};
  options.open_timeout_s = 5;
  options.slack_s = 0.2;
  return options;
}

PrepareRequest problem() {
  PrepareRequest request;
  request.workload.buffers = {{"C", ElementType::f32, 1, BufferRole::out}};
  request.policy.launch_timeout_s = 0.1;
  return request;
}

GpuEvent wait(GpuClient& client) {
  for (int i = 0; i < 1000; ++i) {
    if (auto event = client.poll()) return *event;
    pollfd descriptor{client.fd(), POLLIN, 0};
    ::poll(&descriptor, 1, 10);
  }
  ADD_FAILURE() << "no event within ten seconds";
  return {};
}

/// The event, which has to be a `What`.
template <typename What>
What as(const GpuEvent& event) {
  const What* const what = std::get_if<What>(&event);
  EXPECT_NE(what, nullptr) << "event " << event.index();
  return what != nullptr ? *what : What{};
}

MeasureRequest kernel(std::uint64_t ticket) {
  MeasureRequest request;
  request.ticket = ticket;
  request.cubin = "binary\0bytes";
  request.launches.emplace_back();
  return request;
}

GpuEvent measure_with(const std::string& mode) {
  GpuClient client(fake(mode));
  EXPECT_TRUE(client.open().has_value()) << client.why();
  client.prepare(problem());
  as<Prepared>(wait(client));
  client.dispatch(kernel(1));
  return wait(client);
}

TEST(GpuClient, WhatIsPrintedComesWithTheMeasurement) {
  EXPECT_EQ(as<Measured>(measure_with("prints")).printed,
            "\033[2Jwarp 0\r\nwarp 1\n\033[2Jwarp 0\r\nwarp 1\n");
  EXPECT_EQ(as<Measured>(measure_with("none")).printed, "");
  const auto lost = as<WorkerLost>(measure_with("crash_prints"));
  EXPECT_EQ(lost.end.printed, "Assertion `row < M` failed.\nAssertion `row < M` failed.\n");
}

TEST(GpuClient, MeasuresAndGoesOn) {
  GpuClient client(fake("none"));
  const auto opened = client.open();
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(opened->device.multiprocessors, 132);
  client.prepare(problem());
  const auto prepared = as<Prepared>(wait(client));
  ASSERT_EQ(prepared.baselines.size(), 1U);
  EXPECT_EQ(prepared.baselines[0].timing->median_us, 201);
  for (std::uint64_t ticket = 1; ticket <= 3; ++ticket) {
    client.dispatch(kernel(ticket));
    const auto measured = as<Measured>(wait(client));
    EXPECT_EQ(measured.ticket, ticket);
    EXPECT_EQ(measured.outcome, Outcome::ok);
    EXPECT_TRUE(client.idle());
  }
  EXPECT_TRUE(client.ready());
}

TEST(GpuClient, AnErrorBeyondTheBoundIsAWrongResultWhateverTheWorkerSays) {
  const auto measured = as<Measured>(measure_with("inaccurate"));
  EXPECT_EQ(measured.outcome, Outcome::wrong_result);
  EXPECT_TRUE(carries(measured.reason, {"0.5", "bound"}));
}

TEST(GpuClient, SaysWhyThereIsNoGpu) {
  GpuClient client(fake("no_gpu"));
  EXPECT_FALSE(client.open().has_value());
  EXPECT_EQ(client.why(), "there is no driver here");
}

TEST(GpuClient, GivesUpOnAMuteWorker) {
  GpuClientOptions options = fake("mute");
  options.open_timeout_s = 0.1;
  GpuClient client(options);
  try {
    client.open();
    FAIL();
  } catch (const GpuError& error) {
    EXPECT_TRUE(carries(std::string(error.what()), {"100 ms"}));
  }
}

TEST(GpuClient, LastWordsOfAWorkerThatDoesNotOpenAreCutAndMadePrintable) {
  GpuClient client(fake("dead_prints"));
  try {
    client.open();
    FAIL();
  } catch (const GpuError& error) {
    const std::string why = error.what();
    EXPECT_NE(why.substr(0, 100).find("exited with 6: ?[2J?xxx"), std::string::npos) << why;
    EXPECT_LT(why.size(), 4200U);
  }
}

struct Misbehaviour {
  const char* mode;
  Outcome outcome;
  const char* reason;
};

class MisbehavingWorker : public testing::TestWithParam<Misbehaviour> {};

TEST_P(MisbehavingWorker, CostsOneConfigurationAndIsReplaced) {
  const auto lost = as<WorkerLost>(measure_with(GetParam().mode));
  EXPECT_EQ(lost.end.ticket, 1U);
  EXPECT_EQ(lost.end.outcome, GetParam().outcome);
  EXPECT_NE(lost.end.reason.find(GetParam().reason), std::string::npos) << lost.end.reason;
}

INSTANTIATE_TEST_SUITE_P(
    Modes, MisbehavingWorker,
    testing::Values(Misbehaviour{"crash", Outcome::crashed, "killed by signal 11"},
                    Misbehaviour{"exit", Outcome::crashed, "exited with 7"},
                    Misbehaviour{"fatal", Outcome::crashed, "an illegal memory access was encountered"},
                    Misbehaviour{"hang", Outcome::timeout, "did not finish a launch within 300 ms"},
                    Misbehaviour{"garbage", Outcome::crashed,
                                 "sent an invalid message: received bytes that do not begin a frame"},
                    Misbehaviour{"huge", Outcome::crashed, "sent an invalid message: a frame announces"},
                    Misbehaviour{"half", Outcome::crashed, "in the middle of a frame"},
                    Misbehaviour{"other_ticket", Outcome::crashed, "the answer is for another configuration"},
                    Misbehaviour{"malformed", Outcome::crashed, "is malformed"}),
    [](const auto& mode) { return std::string(mode.param.mode); });

TEST(GpuClient, AnAnswerThatNobodyAskedForIsNotTaken) {
  const auto lost = as<WorkerLost>(measure_with("unasked"));
  EXPECT_TRUE(carries(lost.end.reason, {"invalid message", "another configuration"}));
}

TEST(GpuClient, ASecondAnswerIsNotTakenForTheNextOne) {
  GpuClient client(fake("twice"));
  ASSERT_TRUE(client.open().has_value());
  client.prepare(problem());
  wait(client);
  client.dispatch(kernel(1));
  EXPECT_EQ(as<Measured>(wait(client)).ticket, 1U);
  EXPECT_FALSE(client.ready()) << "a worker that speaks unasked is given up";
  client.prepare_again();
  as<Prepared>(wait(client));
  client.dispatch(kernel(2));
  EXPECT_EQ(as<Measured>(wait(client)).ticket, 2U);
}

TEST(GpuClient, AWorkerThatStopsReadingMissesItsDeadline) {
  GpuClient client(fake("deaf"));
  ASSERT_TRUE(client.open().has_value());
  client.prepare(problem());
  wait(client);
  client.dispatch(kernel(1));
  as<Measured>(wait(client));
  client.dispatch(kernel(2));
  EXPECT_EQ(as<WorkerLost>(wait(client)).end.outcome, Outcome::timeout);
  EXPECT_FALSE(client.ready());
}

TEST(GpuClient, AWorkerMayDieOrHangWhilePreparing) {
  GpuClient dying(fake("dies_preparing"));
  ASSERT_TRUE(dying.open().has_value());
  dying.prepare(problem());
  EXPECT_EQ(as<WorkerLost>(wait(dying)).end.reason, "exited with 5");
  GpuClientOptions options = fake("hangs_preparing");
  options.prepare_timeout_s = 0.2;
  GpuClient hanging(options);
  ASSERT_TRUE(hanging.open().has_value());
  hanging.prepare(problem());
  const auto hung = as<WorkerLost>(wait(hanging));
  EXPECT_EQ(hung.end.outcome, Outcome::timeout);
  EXPECT_TRUE(carries(hung.end.reason, {"200 ms"}));
}

TEST(GpuClient, StartsAnotherWorkerAndPreparesItAfterALoss) {
  GpuClient client(fake("crash"));
  ASSERT_TRUE(client.open().has_value());
  client.prepare(problem());
  wait(client);
  client.dispatch(kernel(1));
  as<WorkerLost>(wait(client));
  EXPECT_FALSE(client.ready());
  EXPECT_EQ(client.losses_in_a_row(), 1);
  client.prepare_again();
  EXPECT_FALSE(client.idle()) << "the worker is still starting";
  as<Prepared>(wait(client));
  ASSERT_TRUE(client.ready());
  client.dispatch(kernel(2));
  EXPECT_EQ(as<Measured>(wait(client)).ticket, 2U);
  EXPECT_EQ(client.losses_in_a_row(), 0);
}

TEST(GpuClient, KnowsAWorkerThatWasKilledFromOutside) {
  EXPECT_TRUE(as<WorkerLost>(measure_with("killed")).without_fault);
  EXPECT_FALSE(as<WorkerLost>(measure_with("crash")).without_fault);
  EXPECT_FALSE(as<WorkerLost>(measure_with("hang")).without_fault) << "it was killed by its deadline";
}

TEST(GpuClient, ReportsAProblemThatCannotBePrepared) {
  GpuClient client(fake("unpreparable"));
  ASSERT_TRUE(client.open().has_value());
  client.prepare(problem());
  EXPECT_TRUE(carries(as<PrepareFailed>(wait(client)).reason, {"3.0 TiB"}));
}

TEST(GpuClient, CalibratesOnceAndNotAgainAfterALoss) {
  GpuClient client(fake("crash"));
  ASSERT_TRUE(client.open().has_value());
  PrepareRequest request = problem();
  request.calibrate = true;
  client.prepare(request);
  const auto prepared = as<Prepared>(wait(client));
  ASSERT_TRUE(prepared.calibration.has_value());
  EXPECT_EQ(prepared.calibration->copy_gbs, 4000);
  client.dispatch(kernel(1));
  as<WorkerLost>(wait(client));
  client.prepare_again();
  EXPECT_FALSE(as<Prepared>(wait(client)).calibration.has_value());
}

FinalsRequest finals_of(const std::vector<std::uint64_t>& tickets) {
  FinalsRequest request;
  for (const std::uint64_t ticket : tickets) request.finalists.push_back(kernel(ticket));
  return request;
}

/// The tickets whose turn it was, and what the finals ended with.
std::pair<std::vector<std::uint64_t>, GpuEvent> run_finals(GpuClient& client, const FinalsRequest& request) {
  EXPECT_TRUE(client.open().has_value()) << client.why();
  client.prepare(problem());
  as<Prepared>(wait(client));
  client.dispatch(request);
  EXPECT_FALSE(client.idle());
  EXPECT_FALSE(client.measuring());
  std::vector<std::uint64_t> turns;
  while (true) {
    const GpuEvent event = wait(client);
    const FinalsTurn* const turn = std::get_if<FinalsTurn>(&event);
    if (turn == nullptr) return {turns, event};
    turns.push_back(turn->ticket);
  }
}

TEST(GpuClient, RunsFinalsAndSaysWhoseTurnItIs) {
  GpuClient client(fake("none"));
  const auto [turns, end] = run_finals(client, finals_of({5, 2, 9}));
  EXPECT_EQ(turns, (std::vector<std::uint64_t>{0, 5, 2, 9}));
  const auto finals = as<FinalsMeasured>(end);
  ASSERT_EQ(finals.times.size(), 5U);
  EXPECT_EQ(finals.times[1].ticket, 2U);
  EXPECT_EQ(finals.times[3].name, "twin");
  EXPECT_TRUE(client.ready());
}

TEST(GpuClient, AFinalistBeyondTheBoundIsWrong) {
  GpuClient client(fake("finals_inaccurate", 2));
  const auto [turns, end] = run_finals(client, finals_of({5, 2, 9}));
  const auto finals = as<FinalsMeasured>(end);
  ASSERT_FALSE(finals.times.empty());
  for (const Measured& time : finals.times)
    EXPECT_EQ(time.outcome, time.ticket == 2 ? Outcome::wrong_result : Outcome::ok) << time.ticket;
}

TEST(GpuClient, KnowsWhoseTurnItWasWhenTheWorkerWasLostInTheFinals) {
  // One that hangs says so in a file of the working folder.
  const ScratchFolder folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  for (const char* mode : {"finals_crash", "finals_hang", "finals_killed"}) {
    GpuClient client(fake(mode, 2));
    const auto [turns, end] = run_finals(client, finals_of({5, 2, 9}));
    const auto lost = as<WorkerLost>(end);
    EXPECT_EQ(lost.end.ticket, 2U) << mode;
    EXPECT_EQ(lost.without_fault, std::string(mode) == "finals_killed");
    EXPECT_EQ(lost.end.outcome, std::string(mode) == "finals_hang" ? Outcome::timeout : Outcome::crashed);
  }
  std::filesystem::current_path(before);
}

}  // namespace client_test
}  // namespace tiletune
