#pragma once

#include <gtest/gtest.h>

#include "base/error.h"

namespace tiletune {

/// The error that `action` ends in; a test failure when it ends well.
template <typename Action>
UserError user_error_of(const Action& action) {
  try {
    action();
  } catch (const UserError& error) {
    return error;
  }
  ADD_FAILURE() << "no UserError was thrown";
  return {"", ""};
}

}  // namespace tiletune
