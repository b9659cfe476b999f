#pragma once

#include <filesystem>

#include "spec/reader.h"
#include "spec/tune_spec.h"

namespace tiletune {

/// "randint(0, columns)" or "permutation": a distribution with expressions for its arguments; or an object
/// that names an .npy file beneath `folder`. `type` is the buffer's. Throws UserError.
BufferValues read_buffer_values(const JsonNode& node, ElementType type, const std::filesystem::path& folder,
                                bool allow_outside);

}  // namespace tiletune
