// The part of ReferenceSide that asks check() of the problem whether outputs are right.
#include <algorithm>

#include "gpu_worker/judge/device/cpu_device.h"
#include "gpu_worker/judge/trial/reference_side.h"

namespace kq::judge {
namespace {

using channel::Command;

// The copies that check() gets may take so much host memory, or this part of it where that is more.
constexpr std::uint64_t kCheckBytes = 4ull << 30;
constexpr std::uint64_t kCheckPartOfHost = 8;

// Returns the rows with the offsets of tensors moved from one place to another.
std::vector<Tensor> moved(std::span<const Tensor> rows, const std::vector<Tensor>& places, std::uint64_t from,
                          std::uint64_t to) {
  std::vector<Tensor> result(rows.begin(), rows.end());
  for (std::size_t i = 0; i < result.size(); ++i) {
    result[i].place = channel::Place::window;
    if (result[i].kind == channel::Kind::tensor) result[i].offset = places[i].offset - from + to;
  }
  return result;
}

}  // namespace

Step<std::string> ReferenceSide::run_check(const Plan& plan, const CheckRequest& request) {
  if (child_->is_busy()) held_outcome_ = child_->finish();
  const std::uint64_t expected_at = layout_.inputs.bytes();
  const std::uint64_t got_at = expected_at + layout_.outputs.bytes();
  const std::uint64_t bytes = got_at + layout_.outputs.bytes();
  const auto host = open_cpu_device();
  if (!host) return stop(host.error());
  const std::uint64_t bytes_max = std::max(kCheckBytes, (*host)->info().memory_bytes / kCheckPartOfHost);
  if (bytes > bytes_max) {
    return stop(VerdictName::too_large, evidence(Stage::judge, "check",
                                                 "inputs and both sides' outputs need " + format_bytes(bytes) +
                                                     ", but check() gets at most " + format_bytes(bytes_max)));
  }
  auto memory = (*host)->make_window(bytes);
  if (!memory) return stop(memory.error());
  if (!*memory)
    return stop(VerdictName::too_large, evidence(Stage::judge, "check", "the host has no room for copies for check()"));
  auto* const begin = reinterpret_cast<std::byte*>((*memory)->address());
  if (const auto read = read_inputs(request.input_copies, begin); !read) return stop(read.error());
  for (const auto& [from, at] : {std::pair{&request.expected, expected_at}, std::pair{&request.got, got_at}}) {
    if (const auto read = device_.read({begin + at, layout_.outputs.bytes()}, *from, 0); !read)
      return stop(read.error());
  }
  const std::vector<Tensor>& places = layout_.tables.outputs;
  std::vector<Tensor> outputs = moved(request.outputs, places, layout_.outputs.begin, expected_at);
  std::ranges::copy(moved(request.got_outputs, places, layout_.outputs.begin, got_at), std::back_inserter(outputs));
  child_->write_inputs(moved(request.inputs, layout_.tables.inputs, layout_.inputs.begin, 0));
  child_->write_outputs(outputs);
  child_->send_window(**memory);
  KQ_TRY_VALUE(
      const auto answered,
      accept(child_->command({.command = Command::check, .limit_ms = plan.limits.load_limit_ms}), doing(Phase::run)));
  // check() may use the device. What is left of its context would count as work before the next call.
  if (const auto run = device_.run_without_call(); !run) return stop(run.error());
  return answered.text;
}

}  // namespace kq::judge
