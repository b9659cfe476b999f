// What the compiler leaves of the kernels that measure a GPU's ceilings: all of their work, and little else.

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "compile/pool.h"
#include "inspect/elf.h"
#include "inspect/sass.h"
#include "measure/device_kernels.h"
#include "measure/instruments.h"

namespace tiletune {
namespace own_kernels_test {

using Code = std::vector<SassInstruction>;

std::string compiled_for(const OwnSource& source, int major, int minor,
                         std::optional<ElementType> type = {}) {
  const Compiled compiled = compile_here(compile_request_of(source, major, minor, type));
  EXPECT_EQ(compiled.outcome, Outcome::ok) << compiled.reason;
  return compiled.binary ? compiled.binary->cubin : "";
}

/// The code from the target of a backward branch to the branch, of the last such range in a kernel.
Code loop_of(const std::string& cubin, const std::string& kernel) {
  const CubinElf elf(cubin);
  const ElfSection* const section = elf.section(".text." + kernel);
  EXPECT_NE(section, nullptr) << kernel;
  if (section == nullptr) return {};
  const Code code = decode_sass(section->bytes, elf.architecture());
  Code loop;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const SassInstruction& branch = code[i];
    if (branch.kind != SassKind::branch || !branch.target || *branch.target >= static_cast<std::int64_t>(i))
      continue;
    loop.assign(code.begin() + *branch.target, code.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
  return loop;
}

std::size_t count(const Code& code, SassKind kind, int bytes) {
  return static_cast<std::size_t>(std::count_if(code.begin(), code.end(), [&](const SassInstruction& each) {
    return each.kind == kind && each.bytes == bytes;
  }));
}

class CeilingKernels : public testing::TestWithParam<std::pair<int, int>> {
 protected:
  std::string cubin_ = compiled_for(kCalibrationKernels, GetParam().first, GetParam().second);
};

TEST_P(CeilingKernels, MultiplyAndAddFromRegistersWithAPercentOfOverheadAtMost) {
  constexpr std::uint32_t kFfmaFromRegisters = 0x223;
  for (const std::size_t wanted : {std::size_t{256}, std::size_t{512}}) {
    const Code loop = loop_of(cubin_, "multiply_add_" + std::to_string(wanted));
    const auto found = std::count_if(loop.begin(), loop.end(), [&](const SassInstruction& each) {
      return each.opcode() == kFfmaFromRegisters;
    });
    EXPECT_EQ(static_cast<std::size_t>(found), wanted);
    EXPECT_LE(loop.size(), wanted + wanted / 64);
  }
}

TEST_P(CeilingKernels, CopyFourQuadsAtATime) {
  const Code loop = loop_of(cubin_, "copy");
  EXPECT_EQ(count(loop, SassKind::global_load, 16), 4U);
  EXPECT_EQ(count(loop, SassKind::global_store, 16), 4U);
}

// A multiprocessor serves a load of 16 bytes per lane in four cycles, in which its schedulers issue sixteen
// instructions: with half of those to spare the loads decide.
TEST_P(CeilingKernels, ReadSharedMemoryInEveryTurn) {
  const Code loop = loop_of(cubin_, "read_shared");
  EXPECT_EQ(count(loop, SassKind::shared_load, 16), 8U);
  EXPECT_LE(loop.size(), 8U * 16 / 2);
}

INSTANTIATE_TEST_SUITE_P(Architectures, CeilingKernels,
                         testing::Values(std::pair(8, 0), std::pair(9, 0), std::pair(12, 0)));

TEST(OwnKernels, MeasureTensorCoresOfEveryArchitecture) {
  for (const auto& [major, minor] : {std::pair(8, 0), std::pair(8, 9), std::pair(9, 0), std::pair(10, 0)}) {
    DeviceFacts device;
    device.compute_major = major;
    device.compute_minor = minor;
    std::size_t types = 0;
    for (const OwnKernels& each : ceiling_kernels(device)) {
      if (each.source != &kTensorKernels) continue;
      ++types;
      const std::string cubin = compiled_for(kTensorKernels, major, minor, each.type);
      EXPECT_NE(CubinElf(cubin).section(".text.tensor"), nullptr) << major << minor;
    }
    EXPECT_EQ(types, 10 * major + minor < 89 ? 4U : 5U);
  }
}

TEST(OwnKernels, CompareAndFillEveryElementType) {
  for (const Named<ElementType>& type : kSpellings<ElementType>) {
    const std::string cubin = compiled_for(kTypedKernels, 9, 0, type.value);
    const CubinElf elf(cubin);
    for (const char* kernel : {"fill_values", "widen", "narrow", "compare", "check_rows"})
      EXPECT_NE(elf.section(std::string(".text.") + kernel), nullptr) << kernel << " " << type.name;
  }
}

TEST(OwnKernels, FillAndRestoreElementsOfEverySize) {
  const std::string cubin = compiled_for(kDeviceKernels, 9, 0);
  const CubinElf elf(cubin);
  for (const char* bits : {"8", "16", "32", "64"}) {
    for (const char* kernel : {"fill_rows_", "restore_rows_"})
      EXPECT_NE(elf.section(std::string(".text.") + kernel + bits), nullptr) << kernel << bits;
  }
}

}  // namespace own_kernels_test
}  // namespace tiletune
