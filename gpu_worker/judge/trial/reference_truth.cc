// The part of ReferenceSide that has the truth computed.
//
// The inputs go to the child, and the truth comes back, through host memory of its own, on a GPU too: the window, the
// arena and what the child has computed ahead stay as they are, no memory of the device is needed for the values, and
// the judge compares on the host anyway. No other child ever maps that memory.
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
// A host is hundreds of times slower than a GPU, so that the truth of a trial that takes a GPU longer than this is not
// computed on the host.
constexpr std::int64_t kHostTruthNsMax = 20'000'000;

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

// Makes the memory, copies the inputs into it, and sets the rows of inputs and outputs. Returns null where the memory
// would be too large or there is no room.
Expected<std::unique_ptr<Memory>> ReferenceSide::make_truth_memory(const TruthRequest& request,
                                                                   std::vector<Tensor>& inputs,
                                                                   std::vector<Tensor>& outputs) const {
  const Region& region = layout_.inputs;
  inputs = request.inputs;
  for (Tensor& input : inputs) {
    if (input.kind == channel::Kind::tensor) input.offset -= region.begin, input.place = channel::Place::window;
  }
  outputs = layout_.tables.outputs;
  std::uint64_t bytes = lay_out(outputs, region.bytes(), true);
  if (bytes > kTruthBytesMax) {
    outputs = layout_.tables.outputs;
    bytes = lay_out(outputs, region.bytes(), false);
  }
  if (bytes > kTruthBytesMax) return std::unique_ptr<Memory>();
  KQ_TRY_VALUE(const auto host, open_cpu_device());
  KQ_TRY_VALUE(auto memory, host->make_window(bytes));
  if (!memory) return std::unique_ptr<Memory>();
  KQ_TRY(read_inputs(request.input_copies, reinterpret_cast<std::byte*>(memory->address())));
  return memory;
}

Step<ReferenceSide::Truth> ReferenceSide::compute_truth(const Plan& plan, const TruthRequest& request) {
  if (child_->is_busy()) held_outcome_ = child_->finish();
  Truth truth;
  std::vector<Tensor> inputs;
  auto memory = make_truth_memory(request, inputs, truth.outputs);
  if (!memory) return stop(memory.error());
  if (!*memory) {
    truth.words = "inputs and outputs need more than " + format_bytes(kTruthBytesMax) + " or than the host has";
    return truth;
  }
  const std::span<const TruthKind> kinds = truth_kinds();
  for (truth.kind = std::max(request.first_kind, truth_kind_); truth.kind < kinds.size(); ++truth.kind) {
    const TruthKind kind = kinds[truth.kind];
    if (kind == TruthKind::float64_on_host && trial_ns_ > kHostTruthNsMax) continue;
    if (!child_->usable()) break;
    child_->write_inputs(inputs);
    child_->write_outputs(truth.outputs);
    child_->write_answer_seeds(std::array{Seeds{.inputs = 0, .calls = request.seed}});
    child_->write_truth_order({.kind = kind, .rounding = request.rounding});
    child_->send_window(**memory);
    const auto outcome = child_->command({.command = Command::truth, .limit_ms = plan.limits.load_limit_ms});
    const auto* const answered = outcome ? std::get_if<Answered>(&*outcome) : nullptr;
    if (answered != nullptr && answered->ok) {
      truth.words = words_of(kind);
      truth.memory = std::move(*memory);
      if (request.first_kind <= truth_kind_) truth_kind_ = truth.kind;
      return truth;
    }
    truth.words += (truth.words.empty() ? "" : "; ") + std::string(words_of(kind)) + ": " + failure_words(outcome);
  }
  if (truth.words.empty()) truth.words = "the reference's process does not answer any more";
  return truth;
}

}  // namespace kq::judge
