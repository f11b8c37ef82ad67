#include "gpu_worker/judge/tensor/layout.h"

#include <array>
#include <cstdio>

namespace kq::judge {
namespace {

constexpr std::uint64_t kGap = channel::kAlign;

// Places the tensors one behind another from `begin` on. Returns the region that they and their gaps take.
Region place(std::vector<Tensor>& tensors, std::uint64_t begin) {
  std::uint64_t at = begin + kGap;
  for (Tensor& tensor : tensors) {
    tensor.place = channel::Place::window;
    tensor.offset = at;
    at += (tensor.bytes + channel::kAlign - 1) / channel::kAlign * channel::kAlign + kGap;
  }
  return {begin, at};
}

}  // namespace

Layout make_layout(Tables tables) {
  Layout layout{.tables = std::move(tables), .inputs = {}, .states = {}, .outputs = {}};
  layout.inputs = place(layout.tables.inputs, 0);
  layout.states = place(layout.tables.states, layout.inputs.end);
  layout.outputs = place(layout.tables.outputs, layout.states.end);
  return layout;
}

std::vector<Region> gaps(const Region& region, const std::vector<Tensor>& tensors) {
  std::vector<Region> found;
  std::uint64_t at = region.begin;
  for (const Tensor& tensor : tensors) {
    found.push_back({at, tensor.offset});
    at = tensor.offset + tensor.bytes;
  }
  found.push_back({at, region.end});
  return found;
}

bool fits(const Layout& layout, const Tables& tables) {
  return same_form(layout.tables.inputs, tables.inputs) && same_form(layout.tables.states, tables.states) &&
         same_form(layout.tables.outputs, tables.outputs);
}

std::string format_bytes(std::uint64_t bytes) {
  static constexpr std::array<const char*, 6> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text.data();
}

}  // namespace kq::judge
