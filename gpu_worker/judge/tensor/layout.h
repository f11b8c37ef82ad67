// The offsets of a problem's tensors in a window. The windows of the reference and of the submission have the same
// layout.
//
//   [inputs: gap, input, gap, input, ..., gap][states: gap, state, ..., gap][outputs: gap, output, ..., gap]
//
// Every tensor begins at a multiple of kAlign and has a gap of at least kAlign bytes before and behind it. The judge
// knows the bytes in the gaps of inputs and outputs and checks them after every call, so it sees a write past an end.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu_worker/judge/tensor/table.h"

namespace kq::judge {

// A range of bytes in a window: begin is inclusive, end is exclusive.
struct Region {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t bytes() const { return end - begin; }
  friend bool operator==(const Region&, const Region&) = default;
};

struct Layout {
  Tables tables;  // their tensors have offsets
  Region inputs;
  Region states;
  Region outputs;

  std::uint64_t bytes() const { return outputs.end; }
};

// Gives every tensor its offset.
Layout make_layout(Tables tables);

// Returns the gaps before, between and behind the tensors of one region, in order.
std::vector<Region> gaps(const Region& region, const std::vector<Tensor>& tensors);

// Returns whether `tables` have the same layout: tensors of the same kinds, dtypes and shapes. Plain values may differ.
bool fits(const Layout& layout, const Tables& tables);

// Returns the number with one decimal and a binary unit: "12.0 GiB".
std::string format_bytes(std::uint64_t bytes);

}  // namespace kq::judge
