#include "rank/gpu_names.h"

#include <algorithm>

namespace tiletune {

namespace {

bool disjoint(const std::set<Source>& a, const std::set<Source>& b) {
  return std::none_of(a.begin(), a.end(), [&](Source source) { return b.contains(source); });
}

}  // namespace

GpuNames::GpuNames(const std::map<std::string, std::set<Source>>& recorded, const GpuAlias& alias) {
  for (const auto& [name, sources] : recorded) {
    std::vector<std::string>& meant = meant_[name];
    if (alias(name) == name) {
      bool beside_all = true;
      for (const auto& [other, of_other] : recorded) {
        if (other == name || alias(other) != name) continue;
        meant.push_back(other);
        beside_all = beside_all && disjoint(sources, of_other);
      }
      if (!beside_all) meant.clear();
    }
    if (meant.empty()) meant.push_back(name);
  }
}

}  // namespace tiletune
