// The inputs of a trial as the reference has drawn them, wherever they lie: what a call is given, and what it must have
// left.
//
// Most often that is one stretch of memory, as the window's region of inputs is. One large tensor may lie where the
// reference has left it; then the rest is a stretch of its own, and what the reference keeps beside that tensor is no
// part of it.
#pragma once

#include <optional>
#include <vector>

#include "gpu_worker/judge/check/memory_checks.h"
#include "gpu_worker/judge/tensor/layout.h"

namespace kq::judge {

class InputCopies {
 public:
  // All of the region; the memory outlives this.
  InputCopies(const Memory& memory, const Region& region) : memory_(memory), region_(region) {}
  // But for one tensor of it, which lies elsewhere.
  InputCopies(const Memory& memory, const Region& region, const Region& tensor, Location elsewhere)
      : memory_(memory), region_(region), tensor_(tensor), elsewhere_(elsewhere) {}

  struct Piece {
    Region region;  // of the window
    Location at;    // where that lies
  };
  // A part of the region, in its order.
  std::vector<Piece> pieces(const Region& part) const;

 private:
  const Memory& memory_;
  Region region_;
  Region tensor_;
  std::optional<Location> elsewhere_;
};

}  // namespace kq::judge
