#pragma once

#include <unistd.h>

#include <cstdlib>
#include <stdexcept>

namespace tiletune {

/// Root may write everywhere: these tests run as somebody else meanwhile.
class AsNobody {
 public:
  AsNobody() : was_(geteuid()) {
    if (was_ == 0 && seteuid(65534) != 0) throw std::runtime_error("seteuid failed");
  }
  ~AsNobody() {
    if (seteuid(was_) != 0) std::abort();
  }
  AsNobody(const AsNobody&) = delete;
  AsNobody& operator=(const AsNobody&) = delete;

 private:
  uid_t was_;
};

}  // namespace tiletune
