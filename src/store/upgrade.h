#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

namespace tiletune {

/// The earliest schema that can be upgraded.
inline constexpr std::int64_t kOldestSchemaVersion = 1;

/// What schemas from 5 on added to the table calibration. 0 where it was not measured.
inline constexpr std::array kLaterRates{"read_gbs",           "tensor_f16_tflops", "tensor_bf16_tflops",
                                        "tensor_tf32_tflops", "tensor_fp8_tflops", "tensor_i8_tflops"};
std::string add_rate_sql(const char* name);

/// Indices of earlier schemas, by their names; upgrading drops them first of all.
const std::set<std::string>& dropped_indices();

/// Brings a database of an earlier schema to this build's, inside the caller's transaction: until that
/// commits, the file is what it was. Throws UserError, naming `file`, when it is damaged.
void upgrade(SQLite::Database& database, const std::filesystem::path& file);

}  // namespace tiletune
