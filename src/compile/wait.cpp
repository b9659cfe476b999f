#include "compile/wait.h"

#include <poll.h>

#include <algorithm>

namespace tiletune {

void wait_for_work(const CompilePool& pool, const std::vector<int>& others, Clock::time_point due) {
  using std::chrono::milliseconds;
  constexpr milliseconds kLongestWait{200};
  std::vector<pollfd> descriptors;
  for (const int fd : pool.fds()) descriptors.push_back({fd, POLLIN, 0});
  for (const int fd : others) descriptors.push_back({fd, POLLIN, 0});
  const auto left = std::chrono::ceil<milliseconds>(std::min(due, pool.next_deadline()) - Clock::now());
  const auto timeout = std::clamp(left, milliseconds(0), kLongestWait);
  ::poll(descriptors.data(), descriptors.size(), static_cast<int>(timeout.count()));
}

}  // namespace tiletune
