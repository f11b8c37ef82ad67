// The port through which the judge learns that a child process has ended.
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
  // Waits at most timeout_ms for the child to end. Returns its wait status, or nothing while it runs. Fails where the
  // control process, which reaps the children, is gone.
  virtual Expected<std::optional<int>> exit_of(ChildRole role, std::int64_t timeout_ms) = 0;
};

}  // namespace kq::judge
