#include "tune/workload_finals.h"

#include <algorithm>

namespace tiletune {

const Finalist* WorkloadFinals::leader() const {
  const auto found = std::find_if(finalists.begin(), finalists.end(),
                                  [](const Finalist& finalist) { return !finalist.fault; });
  return found == finalists.end() ? nullptr : &*found;
}

Finalist* WorkloadFinals::finalist(std::uint64_t ticket) {
  return ticket == 0 || ticket > finalists.size() ? nullptr : &finalists[ticket - 1];
}

const Finalist* WorkloadFinals::finalist(std::uint64_t ticket) const {
  return ticket == 0 || ticket > finalists.size() ? nullptr : &finalists[ticket - 1];
}

}  // namespace tiletune
