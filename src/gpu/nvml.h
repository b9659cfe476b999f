#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace tiletune {

/// What NVML says of one GPU. NVML is loaded at run time; where it is missing every answer is none.
class Nvml {
 public:
  /// `uuid` as the driver gives it ("GPU-...").
  explicit Nvml(const std::string& uuid);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  std::optional<std::string> driver_version() const;  ///< "580.159.04"
  std::optional<double> sm_clock_mhz() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace tiletune
