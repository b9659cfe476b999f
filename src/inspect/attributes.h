#pragma once

#include <cstdint>
#include <string_view>

#include "inspect/elf.h"

namespace tiletune {

/// One entry of a .nv.info section.
struct Attribute {
  std::uint8_t id = 0;
  std::uint16_t small = 0;  ///< the value of an attribute without a size
  std::string_view bytes;   ///< of one with a size
};

/// Calls `visit` with each attribute of a .nv.info section. Throws UserError when the section is damaged.
template <typename Visit>
void for_each_attribute(std::string_view info, const Visit& visit) {
  constexpr std::uint8_t kFormatSized =
      4;  // a 16-bit size, then the value; other formats hold 16 bits in place
  for (std::uint64_t offset = 0; offset < info.size();) {
    Attribute attribute;
    const auto format = read_scalar<std::uint8_t>(info, offset);
    attribute.id = read_scalar<std::uint8_t>(info, offset + 1);
    attribute.small = read_scalar<std::uint16_t>(info, offset + 2);
    offset += 4;
    if (format == kFormatSized) {
      if (info.size() - offset < attribute.small) throw_bad_cubin("an attribute is cut off");
      attribute.bytes = info.substr(offset, attribute.small);
      offset += attribute.small;
    }
    visit(attribute);
  }
}

}  // namespace tiletune
