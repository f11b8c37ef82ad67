// What a child maps of the device: a window of one slot or several, each laid out as the problem's layout is, and
// behind them an arena.
//
//   | slot 0 | slot 1 | ... | arena: what calls allocate |
//
// It is one piece of memory: mapping one takes a child 0.5 ms, and four times as long while another child dies, whose
// end has the driver's lock (H200).
#pragma once

#include <cstdint>
#include <memory>

#include "gpu_worker/judge/check/expected_outputs.h"
#include "gpu_worker/judge/trial/outputs.h"

namespace kq::judge {

struct Window {
  std::unique_ptr<Memory> memory;
  std::uint64_t slots = 1;
  Arena arena = {};
};

// As many slots as that, or one where there is no room for them, with an arena of so many bytes where there is room for
// that too; without room for one slot too_large. On a CPU children cannot be made to allocate in an arena, and none is
// made.
Step<Window> make_window(Device& device, std::uint64_t slots, std::uint64_t slot_bytes, std::uint64_t arena_bytes);

}  // namespace kq::judge
