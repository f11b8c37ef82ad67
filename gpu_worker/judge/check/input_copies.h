// The inputs of a trial as the reference has drawn them. The judge copies them into the window before a call, and
// compares the window with them after it.
//
// Usually they are one contiguous copy of the window's region of inputs. One large tensor may instead lie in the memory
// where the reference has drawn it. Then the copy holds the rest of the region, and its bytes at that tensor's offset
// are ignored.
#pragma once

#include <optional>
#include <vector>

#include "gpu_worker/judge/check/memory_checks.h"
#include "gpu_worker/judge/tensor/layout.h"

namespace kq::judge {

// Maps the window's region of inputs to the memory that holds the inputs' original values.
class InputCopies {
 public:
  // All of the region lies at the beginning of the memory, which must outlive this object.
  InputCopies(const Memory& memory, const Region& region) : memory_(memory), region_(region) {}
  // The same, except for one tensor, which lies elsewhere.
  InputCopies(const Memory& memory, const Region& region, const Region& tensor, Location elsewhere)
      : memory_(memory), region_(region), tensor_(tensor), elsewhere_(elsewhere) {}

  struct Piece {
    Region region;  // of the window
    Location at;    // of its original values
  };
  // Returns the pieces that make up a part of the region, in the order of the window.
  std::vector<Piece> pieces(const Region& part) const;

 private:
  const Memory& memory_;
  Region region_;
  Region tensor_;
  std::optional<Location> elsewhere_;
};

}  // namespace kq::judge
