#include "gpu_worker/child/launcher/binding.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace kq::launcher {
namespace {

using channel::Kind;
using channel::TensorDesc;

constexpr std::size_t kNamesShownMax = 20;

std::string_view name_of(const TensorDesc& desc) {
  return {desc.name, ::strnlen(desc.name, sizeof desc.name)};
}

std::vector<std::int64_t> shape_of(const TensorDesc& desc) {
  return {desc.shape, desc.shape + std::min(desc.ndim, channel::kDimsMax)};
}

const TensorDesc* find(const std::vector<TensorDesc>& table, std::string_view name) {
  const auto found = std::ranges::find(table, name, [](const TensorDesc& desc) { return name_of(desc); });
  return found == table.end() ? nullptr : &*found;
}

std::string names_of(const std::vector<TensorDesc>& table, const std::string& none) {
  std::string text;
  for (std::size_t i = 0; i < std::min(table.size(), kNamesShownMax); ++i)
    text += (i == 0 ? "" : ", ") + std::string(name_of(table[i]));
  return text.empty() ? none : text;
}

// Returns an empty string if the argument has the type and shape of the tensor, or a sentence about the difference.
std::string type_mismatch(const LaunchArg& arg, const TensorDesc& given) {
  const std::vector<std::int64_t> shape = shape_of(given);
  const bool is_same =
      (arg.dtype == channel::Dtype::none || arg.dtype == given.dtype) && (!arg.shape || *arg.shape == shape);
  if (is_same) return {};
  const std::string said = arg.shape ? describe(arg.dtype, *arg.shape) : std::string(launcher::name_of(arg.dtype));
  return "argument " + arg.name + " is said to be " + said + ", the problem has " + describe(given.dtype, shape);
}

template <class T>
std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

// Returns the 64 bits of a scalar parameter. An integer is sign-extended, so that a kernel may read 32 or 64 bits of
// it. A float has 32 bits unless its type is float64.
tl::expected<std::uint64_t, std::string> scalar_bits(const LaunchArg& arg, const Tables& tables) {
  std::optional<double> real = arg.real;
  std::optional<std::int64_t> integer = arg.integer;
  if (!real && !integer) {
    const TensorDesc* given = find(tables.inputs, arg.name);
    if (given == nullptr || given->kind == Kind::tensor || given->kind == Kind::none) {
      return tl::unexpected("argument " + arg.name + " has no value, and forward() has no number of that name");
    }
    if (given->kind == Kind::real) {
      real = given->real;
    } else {
      integer = given->integer;
    }
  }
  const double as_real = real ? *real : static_cast<double>(*integer);
  switch (arg.type) {
    case ArgType::real:
      return arg.dtype == channel::Dtype::float64 ? bits_of(as_real) : bits_of(static_cast<float>(as_real));
    case ArgType::boolean:
      return bits_of<std::uint64_t>(as_real != 0);
    case ArgType::integer:
    case ArgType::tensor:
      return bits_of(integer ? *integer : static_cast<std::int64_t>(*real));
  }
  return bits_of<std::uint64_t>(0);
}

}  // namespace

Tables tables_of(const channel::Page& page) {
  const auto rows = [](const TensorDesc* table, std::uint32_t n, std::uint32_t most) {
    return std::vector<TensorDesc>(table, table + std::min(n, most));
  };
  return {rows(page.inputs, page.input_count, channel::kInputsMax),
          rows(page.outputs, page.output_count, channel::kOutputsMax),
          rows(page.states, page.state_count, channel::kStatesMax)};
}

tl::expected<Binding, std::string> Binding::bind(const LaunchPlan& plan, const Tables& tables) {
  const auto count = [&](ArgRole role) {
    return static_cast<std::size_t>(
        std::ranges::count_if(plan.args, [&](const LaunchArg& arg) { return arg.role == role; }));
  };
  const std::size_t plain = count(ArgRole::output), changed = count(ArgRole::inout), wanted = tables.outputs.size();
  if (wanted != plain && wanted != plain + changed) {
    return tl::unexpected("the kernel has " + std::to_string(plain) + " output and " + std::to_string(changed) +
                          " inout tensors, the reference returns " + std::to_string(wanted));
  }
  Binding binding;
  binding.inout_is_output_ = wanted != plain;
  for (const LaunchArg& arg : plan.args) {
    if (arg.type == ArgType::tensor) {
      KQ_TRY_VALUE(auto slot, binding.bind_tensor(arg, tables));
      binding.slots_.push_back(slot);
    } else {
      KQ_TRY_VALUE(const auto bits, scalar_bits(arg, tables));
      binding.slots_.push_back({.bits = bits});
    }
  }
  return binding;
}

tl::expected<Binding::Slot, std::string> Binding::bind_tensor(const LaunchArg& arg, const Tables& tables) {
  if (arg.role == ArgRole::output) return next_output(arg, tables);
  if (const TensorDesc* input = find(tables.inputs, arg.name)) {
    const auto index = static_cast<std::size_t>(input - tables.inputs.data());
    if (input->kind != Kind::tensor)
      return tl::unexpected("argument " + arg.name + " is a number of forward(), not a tensor");
    if (std::string wrong = type_mismatch(arg, *input); !wrong.empty()) return tl::unexpected(wrong);
    if (arg.role != ArgRole::inout || !inout_is_output_) return Slot{.source = Source::input, .index = index};
    if (input->is_strided != 0) {
      return tl::unexpected("argument " + arg.name +
                            " is inout, but the problem's tensor is not contiguous; make it an input and an output");
    }
    auto slot = next_output(arg, tables);
    if (slot && tables.outputs[slot->index].bytes != input->bytes) {
      return tl::unexpected("argument " + arg.name + " is an input and an output of different sizes");
    }
    if (slot) {
      slot->is_copied = true;
      slot->from = index;
    }
    return slot;
  }
  if (const TensorDesc* state = find(tables.states, arg.name); state != nullptr && arg.role == ArgRole::input) {
    if (std::string wrong = type_mismatch(arg, *state); !wrong.empty()) return tl::unexpected(wrong);
    return Slot{.source = Source::state, .index = static_cast<std::size_t>(state - tables.states.data())};
  }
  return tl::unexpected("argument " + arg.name + " is neither a parameter of forward() (" +
                        names_of(tables.inputs, "") + ") nor a state of the reference (" +
                        names_of(tables.states, "it has none") + ")");
}

tl::expected<Binding::Slot, std::string> Binding::next_output(const LaunchArg& arg, const Tables& tables) {
  const std::size_t index = outputs_bound_++;
  if (std::string wrong = type_mismatch(arg, tables.outputs[index]); !wrong.empty()) return tl::unexpected(wrong);
  return Slot{.source = Source::output, .index = index};
}

const std::vector<Binding::Copy>& Binding::fill(std::uint64_t window, const channel::Page& page) {
  copies_.clear();
  for (Slot& slot : slots_) {
    switch (slot.source) {
      case Source::none:
        break;
      case Source::input:
        slot.bits = window + page.inputs[slot.index].offset;
        break;
      case Source::output:
        slot.bits = window + page.outputs[slot.index].offset;
        break;
      case Source::state:
        slot.bits = window + page.states[slot.index].offset;
        break;
    }
    if (slot.is_copied)
      copies_.push_back({slot.bits, window + page.inputs[slot.from].offset, page.inputs[slot.from].bytes});
  }
  return copies_;
}

void** Binding::parameters() {
  parameters_.clear();
  for (Slot& slot : slots_) parameters_.push_back(&slot.bits);
  return parameters_.data();
}

}  // namespace kq::launcher
