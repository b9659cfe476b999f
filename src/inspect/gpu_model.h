#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tiletune {

/// One GPU model as configs/gpus/<name>.json describes it; every figure there names its source.
struct GpuModel {
  std::string name;                  ///< "H100 SXM"
  std::vector<std::string> aliases;  ///< other names people use, and what the driver calls it
  int compute_major = 0, compute_minor = 0;
  int multiprocessors = 0;
  int warp_size = 32;
  int max_threads_per_block = 1024;
  int max_threads_per_multiprocessor = 0;
  int max_blocks_per_multiprocessor = 0;
  std::int64_t registers_per_multiprocessor = 65536;
  std::int64_t registers_per_block = 65536;
  int max_registers_per_thread = 255;
  std::int64_t shared_bytes_per_multiprocessor = 0;
  std::int64_t shared_bytes_per_block = 49152;  ///< without opting in
  std::int64_t shared_bytes_per_block_optin = 0;
  std::int64_t reserved_shared_bytes_per_block = 0;  ///< the runtime's reserve
  std::int64_t l2_bytes = 0;
  std::int64_t memory_bytes = 0;
  double memory_bandwidth_gbs = 0;  ///< 10^9 bytes/s, peak
  double boost_clock_mhz = 0;
  int fp32_lanes_per_multiprocessor = 128;

  std::string compute_capability() const;  ///< "9.0"
  double fp32_peak_tflops() const;         ///< lanes * 2 * multiprocessors * boost clock
};

/// All models of a folder, by name. Throws UserError with file and pointer for a bad one.
std::vector<GpuModel> load_gpu_models(const std::filesystem::path& folder);

/// By name or alias, compared without case, spaces or punctuation; an unambiguous beginning will do ("A100"
/// is the 40 GB model, as its file says). Throws UserError with the nearest names.
const GpuModel& find_gpu_model(const std::vector<GpuModel>& models, const std::string& name);

}  // namespace tiletune
