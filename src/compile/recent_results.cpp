#include "compile/recent_results.h"

namespace tiletune {

namespace {

/// About: a key twice, the nodes around it, and what was compiled.
std::size_t size_of(const std::string& key, const Compiled& compiled) {
  constexpr std::size_t kNodes = 256;
  const Binary* binary = compiled.binary.get();
  const std::size_t content = binary == nullptr ? 0 : binary->cubin.size();
  return kNodes + 2 * key.size() + compiled.reason.size() + content;
}

}  // namespace

std::optional<Compiled> RecentResults::find(const std::string& key) const {
  const auto found = results_.find(key);
  return found == results_.end() ? std::nullopt : std::optional(found->second);
}

void RecentResults::add(const std::string& key, const Compiled& compiled) {
  if (const auto before = results_.find(key); before != results_.end()) {
    bytes_ -= size_of(key, before->second);
    before->second = compiled;
  } else {
    results_.emplace(key, compiled);
    keys_.push_back(key);
  }
  bytes_ += size_of(key, compiled);
  while (bytes_ > most_bytes_) forget_oldest();
}

void RecentResults::forget_oldest() {
  const auto oldest = results_.find(keys_.front());
  bytes_ -= size_of(oldest->first, oldest->second);
  results_.erase(oldest);
  keys_.pop_front();
}

}  // namespace tiletune
