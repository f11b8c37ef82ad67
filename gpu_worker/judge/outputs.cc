#include "gpu_worker/judge/outputs.h"

#include <algorithm>

namespace kq::judge {
namespace {

constexpr std::uint64_t kBesides = 64ull << 20;
constexpr std::uint64_t kTimes = 3;
constexpr std::uint64_t kPiecesBytesMin = 8u << 20;  // below that one copy more costs as much as copying too much

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
  const std::vector<Tensor>& places = layout.tables.outputs;
  // What lies between outputs of the arena comes from the window; between small ones all of it, with them.
  std::uint64_t taken = region.begin;
  const auto take_until = [&](std::uint64_t end) {
    const auto copied = device.copy(to, taken - region.begin, from.window, from.shift + taken, end - taken);
    taken = end;
    return copied;
  };
  if (region.bytes() < kPiecesBytesMin) {
    if (const auto copied = take_until(region.end); !copied) return copied;
  }
  for (std::size_t i = 0; i < std::min(got.size(), places.size()); ++i) {
    const Tensor& output = got[i];
    const Tensor& place = places[i];
    if (output.place == channel::Place::window || output.bytes != place.bytes || !is_possible(output, from.arena)) continue;
    if (place.offset >= taken) {
      if (const auto copied = take_until(place.offset); !copied) return copied;
      taken = place.offset + place.bytes;
    }
    const auto copied = device.copy(to, place.offset - region.begin, *from.arena, output.offset, output.bytes);
    if (!copied) return copied;
  }
  return taken < region.end ? take_until(region.end) : Expected<void>();
}

}  // namespace kq::judge
