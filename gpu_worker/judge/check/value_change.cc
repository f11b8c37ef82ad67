#include "gpu_worker/judge/check/value_change.h"

#include <algorithm>
#include <span>
#include <utility>

namespace kq::judge {
namespace {

// The number and size of the pieces that are read, evenly over each tensor. Different values differ in some piece,
// unless they are equal almost everywhere.
constexpr std::uint64_t kPieces = 8;
constexpr std::uint64_t kPieceBytes = 512;

Expected<void> read(Device& device, const Location& place, std::uint64_t bytes, std::vector<std::byte>& to) {
  const std::size_t before = to.size();
  to.resize(before + bytes);
  return device.read(std::span(to).subspan(before), place.memory, place.offset);
}

void append(const auto& number, std::vector<std::byte>& to) {
  const auto bytes = std::as_bytes(std::span(&number, 1));
  to.insert(to.end(), bytes.begin(), bytes.end());
}

}  // namespace

Expected<void> ValueChange::observe(Device& device, const InputCopies& copies, const std::vector<Tensor>& values) {
  if (has_changed_) return {};
  std::vector<std::byte> found;
  for (const Tensor& value : values) {
    if (value.kind != channel::Kind::tensor) {
      append(value.integer, found);
      append(value.real, found);
      continue;
    }
    for (const auto& [region, at] : copies.pieces({value.offset, value.offset + value.bytes})) {
      const std::uint64_t step = std::max(region.bytes() / kPieces, kPieceBytes);
      for (std::uint64_t offset = 0; offset < region.bytes(); offset += step) {
        const Location place{at.memory, at.offset + offset};
        if (const auto done = read(device, place, std::min(kPieceBytes, region.bytes() - offset), found); !done)
          return done;
      }
    }
  }
  has_changed_ = trial_count_++ > 0 && found != last_;
  last_ = std::move(found);
  return {};
}

}  // namespace kq::judge
