// Where the tensors of a problem lie in a window. Both sides' windows have the same layout.
//
//   [inputs: gap, input, gap, input, ..., gap][states: likewise][outputs: likewise]
//
// Every tensor begins at a multiple of kAlign and has at least one gap of kAlign bytes before and behind it: what is in
// the gaps of inputs and outputs is known to the judge and checked after every call, so writing past an end is seen.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu_worker/judge/tensor/table.h"

namespace kq::judge {

// A stretch of a window.
struct Region {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t bytes() const { return end - begin; }
  friend bool operator==(const Region&, const Region&) = default;
};

struct Layout {
  Tables tables;  // with offsets
  Region inputs;
  Region states;
  Region outputs;

  std::uint64_t bytes() const { return outputs.end; }
};

Layout make_layout(Tables tables);

// The gaps between the tensors of one region, in order.
std::vector<Region> gaps(const Region& region, const std::vector<Tensor>& tensors);

// Whether `tables` would be laid out as `layout` is: the same tensors in kind, dtype and shape.
bool fits(const Layout& layout, const Tables& tables);

// "12.0 GiB"
std::string format_bytes(std::uint64_t bytes);

}  // namespace kq::judge
