#include "gpu_worker/judge/outputs.h"

#include <algorithm>

namespace kq::judge {
namespace {

constexpr std::uint64_t kBesides = 64ull << 20;
constexpr std::uint64_t kTimes = 3;

bool is_possible(const Tensor& output, const Memory* arena) {
  if (output.place == channel::Place::window) return true;
  return arena != nullptr && output.offset <= arena->bytes() && output.bytes <= arena->bytes() - output.offset;
}

}  // namespace

std::uint64_t arena_bytes(const Layout& layout, std::uint32_t calls) { return (kTimes + calls) * layout.outputs.bytes() + kBesides; }

bool places_are_possible(std::span<const Tensor> outputs, const Memory* arena) {
  return std::ranges::all_of(outputs, [&](const Tensor& output) { return is_possible(output, arena); });
}

Expected<void> take_outputs(Device& device, const Layout& layout, const Taking& from, std::span<const Tensor> got, const Memory& to) {
  const Region& region = layout.outputs;
  if (const auto copied = device.copy(to, 0, from.window, from.shift + region.begin, region.bytes()); !copied) return copied;
  const std::vector<Tensor>& places = layout.tables.outputs;
  for (std::size_t i = 0; i < std::min(got.size(), places.size()); ++i) {
    const Tensor& output = got[i];
    if (output.place == channel::Place::window || output.bytes != places[i].bytes || !is_possible(output, from.arena)) continue;
    const auto copied = device.copy(to, places[i].offset - region.begin, *from.arena, output.offset, output.bytes);
    if (!copied) return copied;
  }
  return {};
}

}  // namespace kq::judge
