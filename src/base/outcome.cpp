#include "base/outcome.h"

namespace tiletune {

bool proves_failure(Outcome outcome, std::string_view reason) {
  switch (outcome) {
    case Outcome::dispatched:
    case Outcome::ok:
    case Outcome::screened_out:
    case Outcome::compile_timeout:
    case Outcome::not_recorded:
      return false;
    case Outcome::refused:
      return reason.find(" of limits.") == std::string_view::npos;
    default:
      return true;
  }
}

}  // namespace tiletune
