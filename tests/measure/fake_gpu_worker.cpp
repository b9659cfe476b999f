// A GPU worker without a GPU, for tests: it answers as the real one does, with times made from the kernel's
// bytes, and misbehaves as its second argument says: fake_gpu_worker DEVICE [MODE [TICKET [FILES]]]. The
// misbehaviour strikes at the measurement with that ticket (default 3), or, for modes that begin with
// "finals_", at that finalist's turn in the finals, or, for "candidate_crash", at that candidate's turn for
// the reference; "dies" is for ever and for GPU 1 alone. The driver it pretends to have shows three GPUs: 0
// and 1 are of one model, 2 of another. DEVICE may be a list: of a problem of several GPUs, each one's part
// is 1 us shorter than the next one's, and the last one's is the whole. "1:MODE" is for GPU 1 alone. Times
// differ by less than half, so that nothing is screened out, unless the mode is "spread". "prints" prints
// escape sequences with every measurement, "crash_prints" its last words; "impossible" is faster than the GPU
// can be ("always_impossible" with every one), "finals_impossible" at its turn in the finals alone;
// "inaccurate" and "finals_inaccurate" find nothing wrong with a large error; "spread_finals_wrong" is both.
// "no_host_memory" cannot time finalists with copies. "mute" says nothing, "0:dead" ends GPU 0 before it is
// opened, and "dead_prints" does so in many words. With FILES, "PLACE:PLACE", it reads files with expected
// outputs there and nowhere else; "appends" writes to those of inputs before it does.

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/fields_json.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/worker_process.h"
#include "measure/messages.h"

namespace {

using namespace tiletune;

/// The figures of an H200 as its driver gives them.
GpuOpened opened(int index) {
  GpuOpened message;
  message.devices = 3;
  DeviceFacts& device = message.device;
  device.index = index;
  device.name = index == 2 ? "Fake H300" : "Fake H200";
  device.uuid = "GPU-00000000-0000-0000-0000-00000000000" + std::to_string(index);
  device.compute_major = 9;
  device.multiprocessors = 132;
  device.warp_size = 32;
  device.max_threads_per_block = 1024;
  device.max_threads_per_multiprocessor = 2048;
  device.max_blocks_per_multiprocessor = 32;
  device.registers_per_multiprocessor = 65536;
  device.registers_per_block = 65536;
  device.shared_bytes_per_multiprocessor = 233472;
  device.shared_bytes_per_block = 49152;
  device.shared_bytes_per_block_optin = 232448;
  device.reserved_shared_bytes_per_block = 1024;
  device.l2_bytes = std::int64_t{60} << 20;
  device.memory_bytes = std::int64_t{139} << 30;
  device.boost_clock_mhz = 1980;
  device.cuda_version = "13.0";
  message.driver_version = "580.0";
  return message;
}

/// In a mode of its own the slowest takes eleven times as long as the fastest.
bool spread_out = false;
bool throttled = false;
int gpus = 1;
double screening = 0;
bool host_copies = false;
std::vector<Regime> regimes;

double time_us(const MeasureRequest& request) {
  const auto hash = static_cast<double>(checksum64(request.cubin) % 1000);
  return spread_out ? 100 + hash : 1000 + 0.4 * hash;
}

Measured measured(const MeasureRequest& request) {
  Measured message;
  message.ticket = request.ticket;
  const double base_us = time_us(request);
  const bool too_slow = screening > 0 && request.leader_us && base_us > screening * *request.leader_us;
  if (too_slow) message.outcome = Outcome::screened_out;
  Samples samples{{base_us, base_us + 1, base_us + 2}};
  for (const double time_us : gpus > 1 ? samples.times_us : std::vector<double>{}) {
    auto& of_each = samples.gpu_times_us.emplace_back();
    for (int gpu = 1; gpu <= gpus; ++gpu) of_each.push_back(time_us - gpus + gpu);
  }
  message.timing = summarise(std::move(samples));
  if (throttled) {
    message.timing->discarded = 2;
    message.condition.throttle_reasons = "sw_power_cap";
  }
  message.accuracy = Accuracy{1e-7, 1e-6, 1e-5, "C[0,0]"};
  message.measure_ms = 1;
  return message;
}

void write_raw(const std::string& bytes) {
  if (::write(kWorkerChannelFd, bytes.data(), bytes.size()) < 0) std::_Exit(9);
}

void print(const std::string& text) {
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) {
    if (::write(stream, text.data(), text.size()) < 0) std::_Exit(9);
  }
}

/// Left in the working folder by a GPU that is dead.
constexpr const char* kGrave = "a_gpu_is_dead";

/// False when the mode strikes in another way than this, or not at all.
bool misbehave(WorkerChannel& channel, const std::string& mode, const MeasureRequest& request) {
  if (mode == "crash") ::raise(SIGSEGV);
  if (mode == "crash_prints") {
    print("Assertion `row < M` failed.\n");
    ::raise(SIGSEGV);
  }
  if (mode == "killed") ::raise(SIGKILL);
  if (mode == "exit") std::_Exit(7);
  if (mode == "hang") std::this_thread::sleep_for(std::chrono::hours(1));
  if (mode == "fatal") {
    channel.send({{"type", "fatal"}, {"reason", "an illegal memory access was encountered"}});
    std::_Exit(1);
  }
  if (mode == "dies") {
    std::ofstream(kGrave) << "for ever";
    std::_Exit(1);
  }
  if (mode == "half") {
    write_raw(encode_frame(to_json(measured(request))).substr(0, 20));
    std::_Exit(0);
  }
  if (mode == "garbage") {
    write_raw("this is no frame at all");
  } else if (mode == "huge") {
    write_raw(std::string("TTF1\xff\xff\xff\x7f\0\0\0\0", 12));
  } else if (mode == "other_ticket") {
    MeasureRequest other = request;
    ++other.ticket;
    channel.send(to_json(measured(other)));
  } else if (mode == "twice") {
    const std::string answer = encode_frame(to_json(measured(request)));
    write_raw(answer + answer);
  } else if (mode == "deaf") {
    channel.send(to_json(measured(request)));
    std::this_thread::sleep_for(std::chrono::hours(1));
  } else if (mode == "malformed") {
    channel.send({{"type", "measured"}, {"ticket", "three"}});
  } else if (mode == "impossible") {
    Measured answer = measured(request);
    answer.timing = summarise({{1e-6, 1e-6, 1e-6}});
    channel.send(to_json(answer));
  } else if (mode == "inaccurate") {
    Measured answer = measured(request);
    answer.accuracy = Accuracy{0.5, 1, 0.5, "C[0,0]"};
    channel.send(to_json(answer));
  } else if (mode == "wrong") {
    Measured answer;
    answer.ticket = request.ticket;
    answer.outcome = Outcome::wrong_result;
    answer.reason = "relative error 0.5 of C (bound 1e-06)";
    channel.send(to_json(answer));
  } else {
    return false;
  }
  return true;
}

std::optional<std::vector<std::string>> readable;

/// Why it cannot read the files of a workload; empty where it can.
std::string unreadable(const Workload& workload) {
  for (const auto& buffer : workload.buffers) {
    for (const auto* file : {&buffer.file, &buffer.expected}) {
      if (!*file) continue;
      try {
        open_array(**file);
      } catch (const UserError& error) {
        return (*file)->path + " cannot be read: " + error.message();
      }
    }
    if (!readable || !buffer.expected) continue;
    const std::string& path = buffer.expected->path;
    const bool may_be_read = std::any_of(readable->begin(), readable->end(),
                                         [&](const std::string& place) { return is_within(path, place); });
    if (!may_be_read || !std::ifstream(path)) return path + " cannot be read";
  }
  return "";
}

constexpr double kBaseline_us = 200;
constexpr double kCopies_us = 5000;

void prepare(WorkerChannel& channel, const PrepareRequest& request, const std::string& mode,
             std::uint64_t strikes_at) {
  for (const MeasureRequest& candidate : request.candidates) {
    channel.send(to_json(Alive{candidate.ticket}));
    if (mode == "candidate_crash" && candidate.ticket == strikes_at) ::raise(SIGSEGV);
  }
  if (mode == "unpreparable") {
    channel.send({{"type", "prepare_failed"}, {"reason", "the problem needs 3.0 TiB"}});
    return;
  }
  if (mode == "appends") {
    for (const auto& buffer : request.workload.buffers)
      if (buffer.file) std::ofstream(buffer.file->path, std::ios::app) << "more";
  }
  if (const std::string why = unreadable(request.workload); !why.empty()) {
    channel.send({{"type", "prepare_failed"}, {"reason", why}});
    return;
  }
  if (mode == "dies_preparing") std::_Exit(5);
  if (mode == "hangs_preparing") std::this_thread::sleep_for(std::chrono::hours(1));
  screening = request.policy.screening;
  host_copies = request.policy.finals.host_copies;
  regimes = request.policy.finals.regimes;
  gpus = request.workload.gpus;
  Prepared prepared;
  Measured& baseline = prepared.baselines.emplace_back();
  baseline.name = "cublas";
  baseline.library = LibraryKernels{"cuBLAS 0.0.0", "sgemm", ""};
  baseline.accuracy = Accuracy{1e-7, 1e-6, 1e-5, "C[0,0]"};
  baseline.timing = summarise({{kBaseline_us, kBaseline_us + 1, kBaseline_us + 2}});
  if (request.calibrate)
    prepared.calibration = Calibration{60, 700, 700, 350, 1400, 1400, 4000, 4500, 30000, 1.25, 2, 1.5};
  if (prepared.calibration && mode == "tired") prepared.calibration->ffma_tflops = 55;
  channel.send(to_json(prepared));
  if (mode == "unasked") channel.send(to_json(measured(MeasureRequest{})));
}

/// A time of the finals: every round is a little slower than the one before for all alike.
Measured final_time(const MeasureRequest& finalist, double base_us, int rounds) {
  Measured time;
  time.ticket = finalist.ticket;
  Samples samples;
  constexpr double kDrift = 0.004;
  for (int round = 0; round < rounds; ++round) {
    samples.times_us.push_back(base_us * (1 + kDrift * round / rounds));
    if (gpus > 1) samples.gpu_times_us.emplace_back(static_cast<std::size_t>(gpus), samples.times_us.back());
  }
  time.timing = summarise(std::move(samples));
  return time;
}

void fail(Measured& time, Outcome outcome, const std::string& reason) {
  time.outcome = outcome;
  time.reason = reason;
  time.timing.reset();
}

/// The end of a worker in the finals, other than "finals_baseline_crash": "finals_crash", "finals_killed",
/// "finals_die" (for ever), "finals_hang".
void misbehave_in_finals(const std::string& mode) {
  if (mode == "finals_crash") ::raise(SIGSEGV);
  if (mode == "finals_killed") ::raise(SIGKILL);
  if (mode == "finals_die") {
    std::ofstream(kGrave) << "for ever";
    ::raise(SIGSEGV);
  }
  if (mode == "finals_hang") {
    std::ofstream("finals_hang") << "here";
    std::this_thread::sleep_for(std::chrono::hours(1));
  }
}

void run_finals(WorkerChannel& channel, const FinalsRequest& request, int rounds, const std::string& mode,
                std::uint64_t strikes_at) {
  channel.send(to_json(Alive{0}));
  if (mode == "finals_baseline_crash" && !request.baselines.empty()) ::raise(SIGSEGV);
  FinalsMeasured finals;
  for (const MeasureRequest& finalist : request.finalists) {
    channel.send(to_json(Alive{finalist.ticket}));
    const bool strikes = finalist.ticket == strikes_at;
    if (strikes) misbehave_in_finals(mode);
    finals.times.push_back(final_time(finalist, 0.99 * time_us(finalist), rounds));
    if (strikes && mode == "finals_impossible") finals.times.back() = final_time(finalist, 1e-6, rounds);
    if (strikes && mode == "finals_inaccurate")
      finals.times.back().accuracy = Accuracy{0.5, 1, 0.5, "C[0,0]"};
    if (strikes && mode.ends_with("finals_wrong"))
      fail(finals.times.back(), Outcome::wrong_result, "relative error 0.5 of C (bound 1e-06)");
  }
  Measured twin = final_time({}, 0.99 * 1.0002 * time_us(request.finalists.front()), rounds);
  twin.name = "twin";
  Measured baseline = final_time({}, kBaseline_us, rounds);
  baseline.name = "cublas";
  finals.times.insert(finals.times.end(), {twin, baseline});
  for (const auto& [name, kernel] : request.baselines) {
    Measured time = final_time({}, 0.99 * time_us(kernel), rounds);
    time.name = name;
    finals.times.push_back(time);
  }
  // Warm, the last finalist is the fastest.
  for (Measured& time : finals.times) {
    const double place = static_cast<double>(&time - finals.times.data());
    for (const Regime regime : regimes)
      if (time.timing && regime == Regime::warm)
        time.figures["warm_us"] = 100 - 10 * place;
      else if (time.timing)
        time.figures[std::string(name(regime)) + "_us"] = time.timing->median_us + 1;
  }
  for (Measured& time : finals.times) {
    if (!host_copies || time.name == "twin" || !time.timing) continue;
    if (mode == "no_host_memory")
      time.warning = "not timed with copies from and to the host: out of memory";
    else
      time.figures["with_copies_us"] = time.timing->median_us + kCopies_us;
  }
  finals.wall_ms = 5;
  channel.send(to_json(finals));
}

void measure(WorkerChannel& channel, const MeasureRequest& request, int device, const std::string& mode,
             std::uint64_t strikes_at) {
  if (mode == "slow" || mode == "dies") std::this_thread::sleep_for(std::chrono::milliseconds(20));
  if (mode == "always_crash") ::raise(SIGSEGV);
  if (mode == "prints") print("\033[2Jwarp 0\r\nwarp 1\n");
  if (mode == "always_killed") ::raise(SIGKILL);
  if (mode == "always_impossible") {
    misbehave(channel, "impossible", request);
    return;
  }
  const bool strikes = request.ticket == strikes_at && (mode != "dies" || device == 1);
  if (strikes && misbehave(channel, mode, request)) return;
  channel.send(to_json(measured(request)));
}

int serve(WorkerChannel& channel, int device, const std::string& mode, std::uint64_t strikes_at) {
  channel.send(to_json(opened(device)));
  int rounds = 0;
  while (const auto message = channel.receive()) {
    if ((*message)["type"] == "prepare") {
      const PrepareRequest request = from_json<PrepareRequest>(*message);
      rounds = request.policy.finals.rounds;
      prepare(channel, request, mode, strikes_at);
    } else if ((*message)["type"] == "finals") {
      run_finals(channel, from_json<FinalsRequest>(*message), rounds, mode, strikes_at);
    } else {
      measure(channel, from_json<MeasureRequest>(*message), device, mode, strikes_at);
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  die_with_parent();
  WorkerChannel channel;
  const int device = argc > 1 ? std::stoi(argv[1]) : 0;
  std::string mode = argc > 2 ? argv[2] : "none";
  if (mode.starts_with("1:")) mode = device == 1 ? mode.substr(2) : "slow";
  spread_out = mode.starts_with("spread");
  if (mode == "0:dead" && device == 0) return 6;
  if (mode == "dead_prints") {
    print("\033[2J\xff" + std::string(20000, 'x'));
    return 6;
  }
  throttled = mode == "throttled";
  if (argc > 4) readable = split(argv[4], ':');
  if (mode == "no_gpu") {
    channel.send({{"type", "no_gpu"}, {"reason", "there is no driver here"}});
    return 0;
  }
  const bool may_be_dead = (mode == "dies" && device == 1) || mode == "finals_die";
  if (may_be_dead && std::filesystem::exists(kGrave)) {
    channel.send({{"type", "fatal"}, {"reason", "the GPU has fallen off the bus"}});
    return 1;
  }
  if (mode == "mute") std::this_thread::sleep_for(std::chrono::hours(1));
  return serve(channel, device, mode, argc > 3 ? std::stoull(argv[3]) : 3);
}
