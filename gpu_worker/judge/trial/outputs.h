// Where the outputs of a call are found, and how they come out of a child's reach.
//
// An output is at its place in the window, where the child has brought it, or in the arena, where it came about; then
// the child says at which offset, and that is held to the arena's size.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "gpu_worker/judge/device/device.h"
#include "gpu_worker/judge/tensor/layout.h"

namespace kq::judge {

// How large an arena is for the calls of a problem: its outputs three times over, as torch keeps one while the next is
// made, and what is made besides. What finds no room there is copied into the window by the child, which is part of its
// call. `calls` more may keep theirs until the judge has looked.
std::uint64_t arena_bytes(const Layout& layout, std::uint32_t calls = 0);

// Whether every output that is said to be in the arena can be.
bool are_in_bounds(std::span<const Tensor> outputs, const Arena& arena);

// The whole words of those that are said to be in the arena, from its begin on.
std::vector<Region> regions_in_arena(std::span<const Tensor> outputs);

// Copies the outputs' region of the window to the beginning of `to`, and over it the outputs of `got` that lie in the
// arena. What is not as the layout has it, or cannot be where it is said to be, is not followed: the checks that come
// later say so.
struct OutputSource {
  const Memory& window;
  std::uint64_t shift = 0;  // of the slot that was called
  Arena arena = {};
};
// Where they lie, so that it can be read as if they had been taken: each at its offset, and between them anything. Null
// where that is not one stretch.
std::unique_ptr<Memory> outputs_in_place(const Layout& layout, const OutputSource& from, std::span<const Tensor> got);
Expected<void> take_outputs(Device& device, const Layout& layout, const OutputSource& from, std::span<const Tensor> got,
                            const Memory& to);

}  // namespace kq::judge
