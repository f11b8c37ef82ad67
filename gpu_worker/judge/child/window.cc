#include "gpu_worker/judge/child/window.h"

#include "gpu_worker/judge/tensor/layout.h"

namespace kq::judge {
namespace {

constexpr std::uint64_t kArenaAlign = 2ull << 20;  // bytes: the granularity of a GPU's mappings

Expected<Window> try_window(Device& device, std::uint64_t slots, std::uint64_t slot_bytes, std::uint64_t arena_bytes) {
  const std::uint64_t arena_begin = (slots * slot_bytes + kArenaAlign - 1) / kArenaAlign * kArenaAlign;
  KQ_TRY_VALUE(auto memory, device.make_window(arena_bytes == 0 ? slots * slot_bytes : arena_begin + arena_bytes));
  Window window{.memory = std::move(memory), .slots = slots};
  if (arena_bytes > 0) window.arena = {.memory = window.memory.get(), .begin = arena_begin};
  return window;
}

}  // namespace

Step<std::unique_ptr<Memory>> make_memory(Device& device, MakeMemory make, std::uint64_t bytes) {
  auto memory = (device.*make)(bytes);
  if (!memory) return stop(memory.error());
  if (!*memory) {
    return stop(VerdictName::too_large,
                evidence(Stage::load, device.info().kind == DeviceKind::cuda ? "gpu" : "host",
                         "no room for " + format_bytes(bytes) + " more on " + device.info().model + ", which has " +
                             format_bytes(device.info().memory_bytes)));
  }
  return std::move(*memory);
}

Step<Window> make_window(Device& device, std::uint64_t slots, std::uint64_t slot_bytes, std::uint64_t arena_bytes) {
  if (device.info().kind != DeviceKind::cuda) arena_bytes = 0;
  // Where memory is short, the window does without more slots first, then without the arena.
  if (slots > 1) {
    auto several = try_window(device, slots, slot_bytes, arena_bytes);
    if (!several) return stop(several.error());
    if (several->memory) return std::move(*several);
  }
  if (arena_bytes > 0) {
    auto one = try_window(device, 1, slot_bytes, arena_bytes);
    if (!one) return stop(one.error());
    if (one->memory) return std::move(*one);
  }
  KQ_TRY_VALUE(auto memory, make_memory(device, &Device::make_window, slot_bytes));
  return Window{.memory = std::move(memory)};
}

}  // namespace kq::judge
