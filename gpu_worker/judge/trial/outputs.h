// Finds the outputs of a call and copies them to memory that no child can reach.
//
// An output lies at its place in the window, where the child has copied it, in the arena, where the call has allocated
// it, or, without a GPU, in the memory of the child's process, which is stopped. In the arena the child reports the
// offset, and the judge checks that it is within the arena.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "gpu_worker/judge/child/process.h"
#include "gpu_worker/judge/device/device.h"
#include "gpu_worker/judge/tensor/layout.h"

namespace kq::judge {

// Returns the size of an arena for the calls of a problem: room for three times the outputs, because torch keeps one
// while it makes the next, for temporary tensors, and for the outputs of `calls` more calls that stay there until the
// judge has checked them. The child copies outputs without room in the arena into the window, as a part of its call.
// Returns 0 where a device of `device_bytes` needs its memory for the windows and copies of so large a problem.
std::uint64_t arena_bytes(const Layout& layout, std::uint64_t device_bytes, std::uint32_t calls = 0);

// Returns whether every output that the child reports in the arena is within the arena, and whether take_outputs() has
// found all of those that it reports in its own memory.
bool are_in_bounds(std::span<const Tensor> outputs, const Arena& arena, const ChildProcess* process = nullptr);

// Returns the regions of the outputs in the arena, relative to its begin and shrunk to whole words of four bytes.
std::vector<Region> regions_in_arena(std::span<const Tensor> outputs);

// The memory in which a call has left its outputs.
struct OutputSource {
  const Memory& window;
  std::uint64_t shift = 0;  // the offset of the slot that was called
  Arena arena = {};
  ChildProcess* process = nullptr;  // in whose memory outputs may lie; null: in none
};

// Returns a view of the outputs where they lie, laid out like the copy of take_outputs() except that the bytes between
// the outputs are arbitrary. Returns null where the outputs are not contiguous.
std::unique_ptr<Memory> outputs_in_place(const Layout& layout, const OutputSource& from, std::span<const Tensor> got);
// Copies the outputs' region of the window to the beginning of `to`, and then the outputs of `got` that lie
// elsewhere over it. Ignores outputs that are not as in the layout or not within the arena; later checks report those.
Expected<void> take_outputs(Device& device, const Layout& layout, const OutputSource& from, std::span<const Tensor> got,
                            const Memory& to);

}  // namespace kq::judge
