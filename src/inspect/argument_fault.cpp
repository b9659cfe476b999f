#include "inspect/argument_fault.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace tiletune {

namespace {

/// "i32" and its size; a buffer is passed by its address.
std::pair<std::string_view, int> passed_as(const ArgumentValue& argument) {
  if (argument.kind == Argument::Kind::buffer) return {"buffer", 8};
  if (argument.kind == Argument::Kind::peers) return {"peers", 8};
  if (argument.kind == Argument::Kind::tensor_map) return {"tensor map", 128};
  return {name(argument.type), static_cast<int>(size_bytes(argument.type))};
}

/// Whether the parameter takes what is passed: the same size, or the low bytes of an integer, for parameters
/// such as bool.
bool fits(const ArgumentValue& argument, int parameter_bytes) {
  const bool integer = argument.kind == Argument::Kind::scalar && !is_floating(argument.type);
  const int bytes = passed_as(argument).second;
  return bytes == parameter_bytes || (integer && parameter_bytes <= 2 && parameter_bytes < bytes);
}

}  // namespace

std::optional<std::string> argument_fault(const std::vector<ArgumentValue>& arguments,
                                          const Resources& resources) {
  if (!resources.parameter_bytes) return std::nullopt;
  const std::vector<int>& parameters = *resources.parameter_bytes;
  if (parameters.size() != arguments.size())
    return fmt::format("arguments: the kernel takes {}, the manifest passes {}", parameters.size(),
                       arguments.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (fits(arguments[i], parameters[i])) continue;
    const auto [type, bytes] = passed_as(arguments[i]);
    return fmt::format("argument {} of the kernel has {} B, the manifest passes {} ({}) with {} B", i + 1,
                       parameters[i], arguments[i].name, type, bytes);
  }
  return std::nullopt;
}

}  // namespace tiletune
