// A GPU worker without a GPU, for tests: it answers as the real one does, with times made from the kernel's
// bytes, and misbehaves as its second argument says: fake_gpu_worker DEVICE [MODE [TICKET]]. The misbehaviour
// strikes at the measurement with that ticket (default 3); "dies" is for ever and for GPU 1 alone. The driver
// it pretends to have shows three GPUs: 0 and 1 are of one model, 2 of another.
// "1:MODE" is for GPU 1 alone. "mute" says nothing, and "0:dead" ends GPU 0 before it is opened.

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "base/hash.h"
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
  device.clock_khz = 1980000;
  device.cuda_version = "13.0";
  message.driver_version = "580.0";
  return message;
}

Measured measured(const MeasureRequest& request) {
  Measured message;
  message.ticket = request.ticket;
  const double base_us = 100 + static_cast<double>(checksum64(request.cubin) % 1000);
  message.timing = summarise({base_us, base_us + 1, base_us + 2});
  message.relative_error = 1e-7;
  message.error_bound = 1e-6;
  message.wall_ms = 1;
  return message;
}

void write_raw(const std::string& bytes) {
  if (::write(kWorkerChannelFd, bytes.data(), bytes.size()) < 0) std::_Exit(9);
}

/// Left in the working folder by a GPU that is dead.
constexpr const char* kGrave = "gpu_1_is_dead";

void misbehave(WorkerChannel& channel, const std::string& mode, const MeasureRequest& request) {
  if (mode == "crash") ::raise(SIGSEGV);
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
  if (mode == "garbage") write_raw("this is no frame at all");
  if (mode == "huge") write_raw(std::string("TTF1\xff\xff\xff\x7f\0\0\0\0", 12));
  if (mode == "half") {
    write_raw(encode_frame(to_json(measured(request))).substr(0, 20));
    std::_Exit(0);
  }
  if (mode == "stranger") {
    MeasureRequest other = request;
    ++other.ticket;
    channel.send(to_json(measured(other)));
  }
  if (mode == "twice") {
    const std::string answer = encode_frame(to_json(measured(request)));
    write_raw(answer + answer);
  }
  if (mode == "deaf") {
    channel.send(to_json(measured(request)));
    std::this_thread::sleep_for(std::chrono::hours(1));
  }
  if (mode == "malformed") channel.send({{"type", "measured"}, {"ticket", "three"}});
  if (mode == "wrong") {
    Measured answer;
    answer.ticket = request.ticket;
    answer.outcome = Outcome::wrong_result;
    answer.reason = "relative error 0.5 of C (bound 1e-06)";
    channel.send(to_json(answer));
  }
}

void prepare(WorkerChannel& channel, const std::string& mode) {
  if (mode == "unpreparable") {
    channel.send({{"type", "prepare_failed"}, {"reason", "the problem needs 3.0 TiB"}});
    return;
  }
  if (mode == "dies_preparing") std::_Exit(5);
  if (mode == "hangs_preparing") std::this_thread::sleep_for(std::chrono::hours(1));
  Prepared prepared;
  prepared.baseline = summarise({200.0, 201.0, 202.0});
  prepared.baseline_version = "cuBLAS 0.0.0";
  channel.send(to_json(prepared));
  if (mode == "unasked") channel.send(to_json(measured(MeasureRequest{})));
}

int serve(WorkerChannel& channel, int device, const std::string& mode, std::uint64_t strikes_at) {
  channel.send(to_json(opened(device)));
  while (const auto message = channel.receive()) {
    if ((*message)["type"] == "prepare") {
      prepare(channel, mode);
      continue;
    }
    const MeasureRequest request = measure_request_from_json(*message);
    if (mode == "slow" || mode == "dies") std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (mode == "always_crash") ::raise(SIGSEGV);
    if (mode == "always_killed") ::raise(SIGKILL);
    const bool strikes = request.ticket == strikes_at && mode != "none" && mode != "slow";
    if (strikes && (mode != "dies" || device == 1)) {
      misbehave(channel, mode, request);
      continue;
    }
    channel.send(to_json(measured(request)));
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
  if (mode == "0:dead" && device == 0) return 6;
  if (mode == "no_gpu") {
    channel.send({{"type", "no_gpu"}, {"reason", "there is no driver here"}});
    return 0;
  }
  if (mode == "dies" && device == 1 && std::filesystem::exists(kGrave)) {
    channel.send({{"type", "fatal"}, {"reason", "the GPU has fallen off the bus"}});
    return 1;
  }
  if (mode == "mute") std::this_thread::sleep_for(std::chrono::hours(1));
  return serve(channel, device, mode, argc > 3 ? std::stoull(argv[3]) : 3);
}
