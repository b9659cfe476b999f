#include "spec/declared_names.h"

#include <fmt/format.h>

namespace tiletune {

void DeclaredNames::declare(const std::string& name, const std::string& what, const Where& where) {
  const auto [entry, is_new] = declared_.try_emplace(name, Declaration{what, where});
  if (is_new) {
    names_.push_back(name);
    return;
  }
  const Declaration& first = entry->second;
  const std::string& pointer = first.where.pointer;
  throw UserError(fmt::format("the name '{}' is taken by {}{}", name, first.what,
                              pointer.empty() ? "" : fmt::format(" ({})", pointer)),
                  where, pointer.empty() ? "Rename it." : "Rename one of the two.");
}

}  // namespace tiletune
