#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/outcome.h"
#include "measure/device_kernels.h"
#include "space/instance.h"

namespace tiletune {

/// Something wrong with what a kernel did to memory, in words.
struct Finding {
  Outcome outcome = Outcome::wrong_result;
  std::string reason;
};

/// Bytes before and after every buffer. None under a memory checker that is to see every access past a
/// buffer's ends: TILETUNE_NO_GUARDS is set for it.
std::size_t guard_bytes();

/// What guard bands hold, but for those of inputs, and what an output's rows have between them.
inline constexpr std::uint8_t kGuardPattern = 0xa5;

/// Data between two bands of `guard` bytes each.
struct Guarded {
  std::string name;
  DeviceAddress data = 0;
  std::size_t bytes = 0;
  std::size_t guard = 0;
  std::uint8_t pattern = kGuardPattern;
};

/// What was written into the bands, if anything.
std::optional<Finding> check_guards(DeviceKernels& kernels, const Guarded& guarded);

/// A NaN in every floating-point type. It stands round inputs and between their rows: a kernel that takes it
/// for data gives a wrong result.
constexpr std::uint8_t kNanPattern = 0xff;

/// What stands round a buffer's data and between its rows.
std::uint8_t pattern_round(const Workload::SizedBuffer& buffer);
ElementRows rows_of(const Workload::SizedBuffer& buffer);
/// The padding between the rows of a buffer that lies at `data`; no bands when there is none.
Bands padding_of(const Workload::SizedBuffer& buffer, DeviceAddress data);

}  // namespace tiletune
