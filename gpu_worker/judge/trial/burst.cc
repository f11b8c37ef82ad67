#include "gpu_worker/judge/trial/burst.h"

#include <algorithm>
#include <numeric>

#include "core/measurement.h"
#include "gpu_worker/judge/trial/outputs.h"

namespace kq::judge {
namespace {

// Allocates memory and returns whether there was room. A job does not need bursts, so a lack of room is no failure.
Expected<bool> make(std::unique_ptr<Memory>& to, Device& device, MakeMemory make, std::uint64_t bytes) {
  KQ_TRY_VALUE(auto made, (device.*make)(bytes));
  to = std::move(made);
  return to != nullptr;
}

}  // namespace

Step<std::unique_ptr<Burst>> Burst::open(Device& device, SubmissionSide& submission, ReferenceSide& reference,
                                         const Plan& plan) {
  std::unique_ptr<Burst> burst(new Burst(device, submission, reference));
  KQ_TRY_VALUE(const auto has_room, burst->make_room(plan));
  return has_room ? std::move(burst) : nullptr;
}

Step<bool> Burst::make_room(const Plan& plan) {
  const Layout& layout = reference_.layout();
  const std::uint64_t slots =
      std::min<std::uint64_t>(kBurstCalls * kBurstSlotsPerCall, kBurstWindowBytesMax / layout.bytes());
  if (slots <= kBurstCalls || layout.tables.outputs.size() * kBurstCalls > channel::kOutputsMax) return false;
  if (layout.outputs.bytes() > kBurstOutputBytesMax) return false;
  slots_ = static_cast<std::uint32_t>(slots);

  std::unique_ptr<Memory> window;
  auto room = make(window, device_, &Device::make_window, slots * layout.bytes());
  if (room && *room) room = make(poison_, device_, &Device::make_private, layout.outputs.bytes());
  for (std::uint32_t i = 0; i < kBurstCalls && room && *room; ++i) {
    PreparedCall call;
    room = make(call.input_copies, device_, &Device::make_private, layout.inputs.bytes());
    if (room && *room) room = make(call.expected, device_, &Device::make_private, layout.outputs.bytes());
    if (room && *room) room = make(call.snapshot, device_, &Device::make_private, layout.outputs.bytes());
    calls_.push_back(std::move(call));
  }
  if (!room) return stop(room.error());
  if (!*room) return false;
  // Device code reads its states from the window. Each slot has its own copy, so the states are as cold in the caches
  // as in a single call.
  for (std::uint32_t slot = 0; slot < slots_; ++slot) {
    const auto copied = device_.copy(*window, shift_of(slot) + layout.states.begin, submission_.window(),
                                     layout.states.begin, layout.states.bytes());
    if (!copied) return stop(copied.error());
  }
  KQ_TRY(submission_.attach_slots(plan, std::move(window), slots_, kBurstCalls));
  return true;
}

Step<Burst::Timed> Burst::run(const Plan& plan, const Draw& draw, std::uint32_t number, std::int64_t call_limit_ms) {
  const std::uint64_t seed = draw();
  KQ_TRY(prepare(plan, draw, seed));
  const std::vector<std::uint16_t> called = draw_slots(draw);
  const SubmissionSide::Trial trial{.number = number,
                                    .seed = seed,
                                    .poison = poison_word(draw()),
                                    .slot_draw = draw(),
                                    .limit_ms = kBurstCalls * call_limit_ms};
  if (const auto poisoned = device_.fill(*poison_, 0, reference_.layout().outputs.bytes(), trial.poison); !poisoned)
    return stop(poisoned.error());

  const std::size_t width = reference_.layout().tables.outputs.size();
  const auto of_call = [&](const std::vector<Tensor>& got, std::size_t i) {
    const std::size_t begin = std::min(i * width, got.size());
    return std::span(got).subspan(begin, std::min(width, got.size() - begin));
  };
  const IntervalHooks hooks{
      .prepare =
          [&] {
            return submission_.poison_previous_outputs(trial.poison).and_then([&] {
              return fill_slots(called, trial.poison);
            });
          },
      .take = [&](const Answered& answered) -> Expected<void> {
        for (std::size_t i = 0; i < called.size(); ++i) {
          const OutputSource from{
              .window = submission_.window(), .shift = shift_of(called[i]), .arena = submission_.arena()};
          const auto taken = take_outputs(device_, reference_.layout(), from, of_call(answered.tables.outputs, i),
                                          *calls_[i].snapshot);
          if (!taken) return taken;
        }
        return {};
      }};
  KQ_TRY_VALUE(const auto answered, submission_.run_burst(called, trial, hooks));
  const std::int64_t occupancy_gap_ns = device_.occupancy_gap_ns();
  for (std::size_t i = 0; i < called.size(); ++i) {
    const PreparedCall& call = calls_[i];
    const SubmissionSide::Expectation expectation{
        call.inputs,    call.outputs,   {*call.input_copies, reference_.layout().inputs},
        *call.expected, *call.snapshot, shift_of(called[i])};
    KQ_TRY(submission_.check(plan, trial, expectation, of_call(answered.tables.outputs, i)));
  }
  KQ_TRY(check_uncalled(called, number));
  return Timed{answered.interval_ns, occupancy_gap_ns, answered.is_early};
}

// Makes the reference compute the inputs and outputs of each call, and copies them out of the reach of children.
Step<void> Burst::prepare(const Plan& plan, const Draw& draw, std::uint64_t seed) {
  const Layout& layout = reference_.layout();
  std::vector<Seeds> seeds(calls_.size());
  std::ranges::generate(seeds, [&] { return Seeds{.inputs = draw(), .calls = seed}; });
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    PreparedCall& call = calls_[i];
    if (const auto made = make_reference_trial(plan, std::span(seeds).subspan(i)); !made) return made;
    const auto kept =
        device_.copy(*call.input_copies, 0, reference_.input_memory(), 0, layout.inputs.bytes()).and_then([&] {
          return device_.copy(*call.expected, 0, reference_.expected_outputs(), 0, layout.outputs.bytes());
        });
    if (!kept) return stop(kept.error());
    call.inputs = reference_.inputs();
    call.outputs = reference_.outputs();
  }
  return {};
}

// Makes the trial of the first seeds the current one, and computes as many trials of the other seeds in the same
// command as there is room for.
Step<void> Burst::make_reference_trial(const Plan& plan, std::span<const Seeds> seeds) {
  if (reference_.next_ahead_seeds() == nullptr) {
    KQ_TRY_VALUE(const auto made, reference_.make_ahead(plan, seeds));
    if (made == 0) return reference_.make_trial(plan, seeds.front());
  }
  reference_.use_next_ahead();
  return {};
}

std::vector<std::uint16_t> Burst::draw_slots(const Draw& draw) const {
  std::vector<std::uint16_t> slots(slots_);
  std::iota(slots.begin(), slots.end(), std::uint16_t{0});
  for (std::size_t i = 0; i < kBurstCalls; ++i) std::swap(slots[i], slots[i + draw() % (slots.size() - i)]);
  slots.resize(kBurstCalls);
  return slots;
}

// Fills all slots. Slots that will not be called hold inputs like the others.
Expected<void> Burst::fill_slots(const std::vector<std::uint16_t>& called, std::uint32_t poison) {
  const Layout& layout = reference_.layout();
  std::size_t next = 0;
  for (std::uint32_t slot = 0; slot < slots_; ++slot) {
    const auto at = static_cast<std::size_t>(std::ranges::find(called, slot) - called.begin());
    const PreparedCall& call = calls_[at < called.size() ? at : next++ % calls_.size()];
    const auto filled =
        device_.fill(submission_.window(), shift_of(slot) + layout.outputs.begin, layout.outputs.bytes(), poison)
            .and_then([&] {
              return device_.copy(submission_.window(), shift_of(slot) + layout.inputs.begin, *call.input_copies, 0,
                                  layout.inputs.bytes());
            });
    if (!filled) return filled;
  }
  return {};
}

Step<void> Burst::check_uncalled(const std::vector<std::uint16_t>& called, std::uint32_t number) {
  const Region& outputs = reference_.layout().outputs;
  std::vector<DeviceComparison> comparisons;
  for (std::uint32_t slot = 0; slot < slots_; ++slot) {
    if (std::ranges::find(called, slot) != called.end()) continue;
    comparisons.push_back({.expected = poison_.get(),
                           .got = &submission_.window(),
                           .got_offset = shift_of(slot) + outputs.begin,
                           .bytes = outputs.bytes()});
  }
  const auto is_poison = checks_.all_match(comparisons);
  if (!is_poison) return stop(is_poison.error());
  if (*is_poison) return {};
  Evidence found =
      evidence(Stage::judge, "tamper",
               "the submission wrote to the outputs of a call that was not made, in trial " + std::to_string(number));
  found.rule = "ahead";
  found.hint = "a call must work on its own inputs only";
  return stop(VerdictName::rejected, std::move(found));
}

double burst_call_time_ns(std::span<const std::int64_t> bursts_ns, std::span<const std::int64_t> singles_ns) {
  if (bursts_ns.size() < kBurstsMin || singles_ns.empty()) return 0;
  return std::max(1.0, (summarise(bursts_ns).median_ns - summarise(singles_ns).median_ns) / (kBurstCalls - 1));
}

}  // namespace kq::judge
