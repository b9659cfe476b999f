#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "spec/tune_spec.h"

/// One input. Whatever escapes it as an exception counts as a crash.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace tiletune::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Ends the process with this text, which the fuzzer reports as a crash, unless `holds`.
void require(bool holds, std::string_view what);

/// True when `action` ends in a UserError that says something. Other exceptions escape.
template <typename Action>
bool refused(const Action& action) {
  try {
    action();
    return false;
  } catch (const UserError& error) {
    require(!error.message().empty(), "a refusal says what is wrong");
    return true;
  }
}

/// A folder of this process in $TMPDIR; tools/fuzz removes it.
const std::filesystem::path& scratch_folder();
std::filesystem::path write_scratch(const std::string& name, std::string_view content);

/// Everything of a template that depends on a problem, as long as its space is small: the space itself, and
/// the configurations at its beginning. Only UserErrors may come out of it, and they stay here.
void evaluate_template(const TemplateSpec& spec, const Problem& problem);

/// Combinations of all parameters' values; none above `most`.
std::optional<std::size_t> raw_size(const TemplateSpec& spec, std::size_t most);

}  // namespace tiletune::fuzz
