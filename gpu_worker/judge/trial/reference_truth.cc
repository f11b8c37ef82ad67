// The part of ReferenceSide that has the truth computed.
//
// The inputs go to the child, and the truth comes back, through memory of its own, so that the window, the arena and
// what the child has computed ahead stay as they are. That memory is the device's where it has room, because writing a
// gigabyte to fresh host memory takes seconds, and otherwise the host's. No other child ever maps it.
#include <algorithm>
#include <array>
#include <utility>

#include "gpu_worker/judge/check/compare.h"
#include "gpu_worker/judge/device/cpu_device.h"
#include "gpu_worker/judge/trial/reference_side.h"

namespace kq::judge {
namespace {

using channel::Command;
using channel::Dtype;
using channel::TruthKind;

// The most host memory for the inputs and the truth of one trial. Floating-point outputs travel as float64, or as
// float32 where they would need more than this.
constexpr std::uint64_t kTruthBytesMax = 4ull << 30;
// The same for a device: one part in so many of its memory, because computing in float64 needs memory as well.
constexpr std::uint64_t kDeviceMemoryParts = 8;
// The truth is not computed on the host where the reference on a GPU takes longer than this for a trial, from the
// request to the answer. The host takes hundreds of times as long: 4 s for a U-Net that takes 6 ms on an H200, with
// eight threads.
constexpr std::int64_t kHostTruthNsMax = 2'000'000;

constexpr std::array kCudaKinds{TruthKind::float64_on_device, TruthKind::float64_on_host, TruthKind::float32_on_device};
constexpr std::array kCpuKinds{TruthKind::float64_on_device, TruthKind::float32_on_device};

const char* words_of(TruthKind kind) {
  switch (kind) {
    case TruthKind::float64_on_device:
      return "float64 on the device";
    case TruthKind::float64_on_host:
      return "float64 on the host";
    case TruthKind::float32_on_device:
      return "IEEE float32 on the device";
  }
  return "";
}

// Returns the dtype in which an output travels.
Dtype travelling(Dtype dtype, bool is_double) {
  if (is_complex(dtype)) return is_double ? Dtype::complex128 : Dtype::complex64;
  if (is_floating(dtype)) return is_double ? Dtype::float64 : Dtype::float32;
  return dtype;
}

std::uint64_t aligned(std::uint64_t offset) {
  return (offset + channel::kAlign - 1) / channel::kAlign * channel::kAlign;
}

// Gives the outputs their dtypes and their offsets from `begin` on, and returns the end.
std::uint64_t lay_out(std::vector<Tensor>& outputs, std::uint64_t begin, bool is_double) {
  for (Tensor& output : outputs) {
    if (output.kind != channel::Kind::tensor) continue;
    const std::uint64_t elements = output.bytes / channel::element_bytes(output.dtype);
    output.dtype = travelling(output.dtype, is_double);
    output.bytes = elements * channel::element_bytes(output.dtype);
    output.place = channel::Place::window;
    output.offset = aligned(begin);
    begin = output.offset + output.bytes;
  }
  return begin;
}

std::string failure_words(const Expected<Outcome>& outcome) {
  if (!outcome) return outcome.error().message;
  if (const auto* answered = std::get_if<Answered>(&*outcome)) return answered->text;
  if (const auto* timed_out = std::get_if<TimedOut>(&*outcome))
    return "it took longer than " + std::to_string(timed_out->limit_ms) + " ms";
  if (const auto* malformed = std::get_if<Malformed>(&*outcome)) return malformed->what;
  return "its process ended";
}

}  // namespace

std::span<const TruthKind> ReferenceSide::truth_kinds() const {
  if (device_.info().kind == DeviceKind::cpu) return kCpuKinds;
  return kCudaKinds;
}

// Copies the region of inputs of a trial into host memory.
Expected<void> ReferenceSide::read_inputs(const InputCopies& copies, std::byte* to) const {
  for (const auto& [piece, from] : copies.pieces(layout_.inputs)) {
    KQ_TRY(device_.read({to + (piece.begin - layout_.inputs.begin), piece.bytes()}, from.memory, from.offset));
  }
  return {};
}

// Waits for the command that was begun, unless its outcome is already held.
Expected<Outcome> ReferenceSide::finish_command() {
  if (!held_outcome_) return child_->finish();
  Expected<Outcome> outcome = std::move(*held_outcome_);
  held_outcome_.reset();
  return outcome;
}

// Makes the memory of a truth, copies the inputs into it, and sets the rows of its inputs and outputs. Leaves the
// memory null where there is no room for it.
Expected<ReferenceSide::Truth> ReferenceSide::make_truth(const TruthRequest& request, bool is_in_device_memory) const {
  const Region& region = layout_.inputs;
  const std::uint64_t limit = is_in_device_memory ? device_.info().memory_bytes / kDeviceMemoryParts : kTruthBytesMax;
  Truth truth{.is_in_device_memory = is_in_device_memory};
  truth.outputs = layout_.tables.outputs;
  std::uint64_t bytes = lay_out(truth.outputs, region.bytes(), true);
  if (bytes > limit) {
    truth.outputs = layout_.tables.outputs;
    bytes = lay_out(truth.outputs, region.bytes(), false);
  }
  if (bytes > limit) return truth;
  if (is_in_device_memory) {
    KQ_TRY_VALUE(truth.memory, device_.make_window(bytes));
    if (!truth.memory) return truth;
    for (const auto& [piece, from] : request.input_copies.pieces(region)) {
      KQ_TRY(device_.copy(*truth.memory, piece.begin - region.begin, from.memory, from.offset, piece.bytes()));
    }
    return truth;
  }
  KQ_TRY_VALUE(const auto host, open_cpu_device());
  KQ_TRY_VALUE(truth.memory, host->make_window(bytes));
  if (truth.memory) KQ_TRY(read_inputs(request.input_copies, reinterpret_cast<std::byte*>(truth.memory->address())));
  return truth;
}

// Has the child compute one kind of truth into the memory.
Expected<Outcome> ReferenceSide::compute_into(const Truth& truth, TruthKind kind, const Plan& plan,
                                              const TruthRequest& request) {
  std::vector<Tensor> inputs = request.inputs;
  for (Tensor& input : inputs) {
    if (input.kind != channel::Kind::tensor) continue;
    input.offset -= layout_.inputs.begin;
    input.place = channel::Place::window;
  }
  child_->write_inputs(inputs);
  child_->write_outputs(truth.outputs);
  child_->write_answer_seeds(std::array{Seeds{.inputs = 0, .calls = request.seed}});
  child_->write_truth_order(
      {.kind = kind, .rounding = request.rounding, .is_device_memory = truth.is_in_device_memory ? 1u : 0u});
  child_->send_window(*truth.memory);
  return child_->command({.command = Command::truth, .limit_ms = plan.limits.load_limit_ms});
}

Step<ReferenceSide::Truth> ReferenceSide::compute_truth(const Plan& plan, const TruthRequest& request) {
  if (child_->is_busy()) held_outcome_ = child_->finish();
  std::string failures;
  const auto add_failure = [&](const std::string& words) { failures += (failures.empty() ? "" : "; ") + words; };
  bool may_use_device_memory = device_.info().kind == DeviceKind::cuda;
  const std::span<const TruthKind> kinds = truth_kinds();
  for (std::size_t i = std::max(request.first_kind, truth_kind_); i < kinds.size();) {
    if (kinds[i] == TruthKind::float64_on_host && trial_ns_ > kHostTruthNsMax) {
      ++i;
      continue;
    }
    if (!child_->usable()) break;
    auto made = make_truth(request, may_use_device_memory);
    if (!made) return stop(made.error());
    Truth truth = std::move(*made);
    if (!truth.memory && may_use_device_memory) {
      may_use_device_memory = false;
      continue;
    }
    if (!truth.memory) {
      add_failure("inputs and outputs need more than " + format_bytes(kTruthBytesMax) + " or than the host has");
      break;
    }
    const auto outcome = compute_into(truth, kinds[i], plan, request);
    const auto* const answered = outcome ? std::get_if<Answered>(&*outcome) : nullptr;
    if (answered != nullptr && answered->ok) {
      if (request.first_kind <= truth_kind_) truth_kind_ = i;
      truth.kind = i;
      truth.words = words_of(kinds[i]);
      return truth;
    }
    if (may_use_device_memory && answered != nullptr && answered->failure == channel::Failure::out_of_gpu_memory) {
      may_use_device_memory = false;
      continue;
    }
    add_failure(std::string(words_of(kinds[i])) + ": " + failure_words(outcome));
    ++i;
  }
  return Truth{.words = failures.empty() ? "the reference's process does not answer any more" : failures};
}

Expected<std::span<const std::byte>> ReferenceSide::truth_bytes(const Truth& truth, std::uint64_t offset,
                                                                std::uint64_t bytes,
                                                                std::vector<std::byte>& buffer) const {
  if (!truth.is_in_device_memory)
    return std::span(reinterpret_cast<const std::byte*>(truth.memory->address()) + offset, bytes);
  buffer.resize(bytes);
  KQ_TRY(device_.read(buffer, *truth.memory, offset));
  return std::span<const std::byte>(buffer);
}

}  // namespace kq::judge
