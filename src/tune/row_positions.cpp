#include "tune/row_positions.h"

#include <algorithm>
#include <string_view>

namespace tiletune {

RowPositions::RowPositions(const TemplateSpec& kernel) : kernel_(&kernel) {
  for (const Parameter& parameter : kernel.parameters) values_.emplace_back(parameter.values);
}

std::optional<std::vector<std::uint32_t>> RowPositions::of(const std::string& parameters) const {
  std::vector<std::uint32_t> positions(kernel_->parameters.size());
  std::size_t open = 0;
  for (const Parameter& parameter : kernel_->parameters) open += parameter.values.size() > 1 ? 1 : 0;
  bool is_known = true;
  for_each_member(parameters, [&](std::string_view name, std::string_view written) {
    const auto found = std::find_if(kernel_->parameters.begin(), kernel_->parameters.end(),
                                    [&](const Parameter& parameter) { return parameter.name == name; });
    if (found == kernel_->parameters.end()) return;
    const auto number = static_cast<std::size_t>(found - kernel_->parameters.begin());
    const Value* const value = values_[number].find(written);
    if (value == nullptr) {
      is_known = false;
      return;
    }
    positions[number] = static_cast<std::uint32_t>(value - found->values.data());
    if (found->values.size() > 1 && open > 0) --open;
  });
  if (!is_known || open > 0) return std::nullopt;
  return positions;
}

}  // namespace tiletune
