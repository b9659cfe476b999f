#pragma once

#include <string_view>
#include <vector>

namespace tiletune {

/// What a kernel does with the memory that one of its parameters points to.
struct PointerUse {
  bool read = false;     ///< some instruction may read it
  bool written = false;  ///< some instruction may write to it
  bool escaped = false;  ///< the address is stored or passed on, so that neither is known
  bool texture = false;  ///< the parameter is the handle of a texture or surface object
  bool indexes = false;  ///< an address may be computed from what it holds
};

/// The uses of all parameters of the kernel of that name, as PTX shows them. Addresses are followed through
/// registers, without regard to the order of instructions. Empty where the PTX has no such kernel.
std::vector<PointerUse> pointer_uses(std::string_view ptx, std::string_view kernel);

/// Whether that kernel waits for all blocks of its grid, as grid.sync() does, which only a cooperative launch
/// allows.
bool waits_for_grid(std::string_view ptx, std::string_view kernel);

}  // namespace tiletune
