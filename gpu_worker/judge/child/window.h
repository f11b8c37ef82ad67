// The device memory of one child: a window of one or more slots, each with the problem's layout, and an arena behind
// the slots.
//
//   | slot 0 | slot 1 | ... | arena: what calls allocate |
//
// Slots and arena are one allocation, because a child pays for each mapping: one mapping takes 0.5 ms, and four times
// as long while another child exits, which holds the driver's lock (H200).
#pragma once

#include <cstdint>
#include <memory>

#include "gpu_worker/judge/child/failure.h"
#include "gpu_worker/judge/device/device.h"

namespace kq::judge {

// Device::make_window or Device::make_private.
using MakeMemory = Expected<std::unique_ptr<Memory>> (Device::*)(std::uint64_t bytes);

// Makes `bytes` of memory. Stops with the verdict too_large where the device has no room for them.
Step<std::unique_ptr<Memory>> make_memory(Device& device, MakeMemory make, std::uint64_t bytes);

struct Window {
  std::unique_ptr<Memory> memory;
  std::uint64_t slots = 1;
  Arena arena = {};
};

// Makes a window of `slots` slots and an arena of at least `arena_bytes`. Where the device has no room, the window gets
// one slot, and where that does not fit either, no arena; without room for one slot it stops with too_large. On a CPU
// there is no arena, because torch cannot be made to allocate in one there.
Step<Window> make_window(Device& device, std::uint64_t slots, std::uint64_t slot_bytes, std::uint64_t arena_bytes);

}  // namespace kq::judge
