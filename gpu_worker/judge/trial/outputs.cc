#include "gpu_worker/judge/trial/outputs.h"

#include <algorithm>

namespace kq::judge {
namespace {

constexpr std::uint64_t kExtraBytes = 64ull << 20;
constexpr std::uint64_t kOutputCopies = 3;
constexpr std::uint64_t kDevicePercent = 85;  // of a device's memory for one job; contexts need some, too
constexpr std::uint64_t kLargeBytes =
    4u << 20;  // for smaller outputs an extra copy costs more than copying too many bytes

bool is_in_bounds(const Tensor& output, const Arena& arena) {
  if (output.place != channel::Place::arena) return true;
  return arena.memory != nullptr && output.offset <= arena.bytes() && output.bytes <= arena.bytes() - output.offset;
}

}  // namespace

std::uint64_t arena_bytes(const Layout& layout, std::uint64_t device_bytes, std::uint32_t calls) {
  const std::uint64_t inputs = layout.inputs.bytes();
  const std::uint64_t outputs = layout.outputs.bytes();
  const std::uint64_t arena = (kOutputCopies + calls) * outputs + kExtraBytes;
  // The windows of both sides, the judge's copies of a trial and of a submission's outputs, and what a reference draws.
  const std::uint64_t others = 2 * layout.bytes() + (inputs + outputs) + outputs + inputs;
  return others + 2 * arena <= device_bytes / 100 * kDevicePercent ? arena : 0;
}

bool are_in_bounds(std::span<const Tensor> outputs, const Arena& arena, const ChildProcess* process) {
  if (process != nullptr && process->has_failed_read()) return false;
  const bool is_in_process = std::ranges::count(outputs, channel::Place::process, &Tensor::place) > 0;
  if (is_in_process && process == nullptr) return false;
  return std::ranges::all_of(outputs, [&](const Tensor& output) { return is_in_bounds(output, arena); });
}

std::vector<Region> regions_in_arena(std::span<const Tensor> outputs) {
  constexpr std::uint64_t kWord = 4;
  std::vector<Region> regions;
  for (const Tensor& output : outputs) {
    if (output.place != channel::Place::arena) continue;
    const Region region{(output.offset + kWord - 1) / kWord * kWord, (output.offset + output.bytes) / kWord * kWord};
    if (region.begin < region.end) regions.push_back(region);
  }
  return regions;
}

std::unique_ptr<Memory> outputs_in_place(const Layout& layout, const OutputSource& from, std::span<const Tensor> got) {
  const Region& region = layout.outputs;
  const auto in_arena =
      std::ranges::count_if(got, [](const Tensor& output) { return output.place == channel::Place::arena; });
  if (in_arena == 0) return std::make_unique<PartMemory>(from.window, from.shift + region.begin, region.bytes());
  const Tensor& place = layout.tables.outputs.front();
  if (got.size() != 1 || got[0].bytes != place.bytes || !is_in_bounds(got[0], from.arena)) return nullptr;
  const std::uint64_t element_bytes = channel::element_bytes(got[0].dtype);  // 0 for a plain value
  if (element_bytes == 0 || got[0].offset % element_bytes != 0)
    return nullptr;  // the device cannot load elements that are not aligned
  const Memory& memory = *from.arena.memory;
  const std::uint64_t at = from.arena.begin + got[0].offset;
  const std::uint64_t before = place.offset - region.begin;
  if (at < before || region.bytes() > memory.bytes() - (at - before)) return nullptr;
  return std::make_unique<PartMemory>(memory, at - before, region.bytes());
}

Expected<void> take_outputs(Device& device, const Layout& layout, const OutputSource& from, std::span<const Tensor> got,
                            const Memory& to) {
  const Region& region = layout.outputs;
  const std::vector<Tensor>& places = layout.tables.outputs;
  const auto is_in_arena = [&](std::size_t i) {
    return i < got.size() && got[i].place == channel::Place::arena && got[i].bytes == places[i].bytes &&
           is_in_bounds(got[i], from.arena);
  };
  const auto is_in_process = [&](std::size_t i) {
    return from.process != nullptr && i < got.size() && got[i].place == channel::Place::process &&
           got[i].bytes == places[i].bytes;
  };
  // Copy the window without the large outputs that lie elsewhere. Then copy the outputs that lie elsewhere.
  std::uint64_t at = region.begin;
  const auto take_until = [&](std::uint64_t end) {
    return device.copy(to, at - region.begin, from.window, from.shift + at, end - at);
  };
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i].bytes < kLargeBytes || !(is_in_arena(i) || is_in_process(i))) continue;
    if (const auto copied = take_until(places[i].offset); !copied) return copied;
    at = places[i].offset + places[i].bytes;
  }
  if (const auto copied = take_until(region.end); !copied) return copied;
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (is_in_process(i)) {
      auto* const begin = reinterpret_cast<std::byte*>(to.address()) + (places[i].offset - region.begin);
      from.process->read(std::span(begin, got[i].bytes), got[i].offset);
    }
    if (!is_in_arena(i)) continue;
    const Arena& arena = from.arena;
    if (const auto copied =
            device.copy(to, places[i].offset - region.begin, *arena.memory, arena.begin + got[i].offset, got[i].bytes);
        !copied)
      return copied;
  }
  return {};
}

}  // namespace kq::judge
