// News from the control process: which child has ended, and with what.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "core/base/error.h"
#include "core/plan.h"

namespace kq::judge {

class Exits {
 public:
  virtual ~Exits() = default;
  // The wait status of that child once it is gone; nothing while it lives. Waits at most timeout_ms for news. An Error:
  // control is gone.
  virtual Expected<std::optional<int>> exit_of(ChildRole role, std::int64_t timeout_ms) = 0;
};

}  // namespace kq::judge
