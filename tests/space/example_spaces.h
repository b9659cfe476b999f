#pragma once

#include <fmt/format.h>

#include "space/spec_builder.h"

namespace tiletune {

/// The GEMM space of CLBlast (Nugteren, 2018) with its rules of divisibility: 14 parameters.
inline TemplateSpec clblast_gemm() {
  SpecBuilder builder;
  builder.integers("MWG", {16, 32, 64, 128}).integers("NWG", {16, 32, 64, 128}).integers("KWG", {16, 32});
  for (const char* name : {"MDIMC", "NDIMC", "MDIMA", "NDIMB"}) builder.integers(name, {8, 16, 32});
  builder.integers("KWI", {2}).integers("VWM", {1, 2, 4, 8}).integers("VWN", {1, 2, 4, 8});
  builder.integers("STRM", {0}).integers("STRN", {0}).integers("SA", {0, 1}).integers("SB", {0, 1});
  builder.require("KWG % KWI == 0")
      .require("MWG % (MDIMC * VWM) == 0")
      .require("NWG % (NDIMC * VWN) == 0")
      .require("MWG % (MDIMA * VWM) == 0")
      .require("NWG % (NDIMB * VWN) == 0")
      .require("KWG % ((MDIMC * NDIMC) // MDIMA) == 0")
      .require("KWG % ((MDIMC * NDIMC) // NDIMB) == 0");
  return builder;
}

/// 10 parameters of 10 values; neighbours in the chain have to add up to a multiple of 3. Of the residues 0,
/// 1, 2 there are 4, 3, 3 values, and 0 goes with 0, 1 with 2: valid are 4^10 + 2 * 3^10 = 1166674 of 10^10.
inline TemplateSpec chain_of_ten() {
  SpecBuilder builder;
  for (int i = 0; i < 10; ++i) builder.integers(numbered('p', i), {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  for (int i = 1; i < 10; ++i) builder.require(fmt::format("(p{} + p{}) % 3 == 0", i - 1, i));
  return builder;
}
inline constexpr std::uint64_t kChainOfTenSize = 1166674;

}  // namespace tiletune
