#pragma once

#include <cstdint>
#include <string_view>

namespace tiletune {

/// "128x64" of a cublasLtMatmulTile_t; empty for numbers that the cublasLt.h of the build does not know.
std::string_view lt_tile_name(std::uint32_t id);
/// "8x3" of a cublasLtMatmulStages_t: elements of K in a stage, and stages ("AUTO": as many as fit).
std::string_view lt_stages_name(std::uint32_t id);
/// "2x1x1" of a cublasLtClusterShape_t
std::string_view lt_cluster_name(std::uint32_t id);

}  // namespace tiletune
