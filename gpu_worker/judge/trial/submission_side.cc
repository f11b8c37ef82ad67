#include "gpu_worker/judge/trial/submission_side.h"

#include <algorithm>
#include <bit>
#include <ranges>
#include <utility>

#include "core/base/check.h"
#include "gpu_worker/judge/check/appearance.h"
#include "gpu_worker/judge/timing/concurrent_warm_ups.h"
#include "gpu_worker/judge/trial/burst.h"

namespace kq::judge {
namespace {

using channel::Command;

// A kernel's time depends on where in memory its data lies (up to 9 % on an H200). So the window has several slots, and
// each call draws one of them. A window has fewer slots where all together exceed kSlotsBytesMax. A CPU has one slot:
// no such difference was found there, and each slot costs page faults.
constexpr std::uint32_t kSlotsMax = 4;
constexpr std::uint64_t kSlotsBytesMax = 256ull << 20;
constexpr std::uint64_t kMadeAheadBytesMax = 1ull << 30;  // the most memory that make_ahead() takes
// The least size of outputs that are compared in place. For smaller outputs it costs less to copy them and to compare
// the copy while the reference computes the next trial.
constexpr std::uint64_t kInPlaceBytesMin = 64ull << 20;
constexpr int kSlowComparisonsMax = 3;  // after so many slow comparisons in a row outputs are copied instead

bool same_number(const Tensor& a, const Tensor& b) {
  return a.integer == b.integer && std::bit_cast<std::uint64_t>(a.real) == std::bit_cast<std::uint64_t>(b.real);
}

// Returns the rows with the offsets of tensors increased by `shift`.
std::vector<Tensor> shifted(std::vector<Tensor> rows, std::uint64_t shift) {
  for (Tensor& row : rows) {
    if (row.kind == channel::Kind::tensor) row.offset += shift;
  }
  return rows;
}

std::string output_name(std::size_t i) {
  return "output " + std::to_string(i);
}

tl::unexpected<Stop> wrong_answer(const SubmissionSide::Trial& trial, std::string reason, const std::string& message) {
  return stop(VerdictName::wrong_answer,
              evidence(Stage::judge, std::move(reason), message + ", in trial " + std::to_string(trial.number)));
}

// Adds to the message about a wrong value that the submission also changed an input, because the change may explain the
// value.
Step<void> with_changed_input(Step<void> wrong, const Step<void>& inputs) {
  if (wrong || inputs) return wrong;
  Ended* const ended = std::get_if<Ended>(&wrong.error());
  const Ended* const changed = std::get_if<Ended>(&inputs.error());
  if (ended != nullptr && changed != nullptr && changed->evidence.reason == "mutated_input")
    ended->evidence.message += "; also, " + changed->evidence.message;
  return wrong;
}

// Returns the place in brackets at the end of a child's sentence: "new.py:12". Returns an empty text where there is
// none.
std::string place_in(std::string_view sentence) {
  const std::size_t begin = sentence.rfind('(');
  if (!sentence.ends_with(')') || begin == std::string_view::npos) return {};
  return std::string(sentence.substr(begin + 1, sentence.size() - begin - 2));
}

}  // namespace

SubmissionMemory::Sizes SubmissionMemory::sizes(const Device& device, std::span<const Layout> layouts,
                                                const Plan& plan) {
  Sizes sizes;
  for (const Layout& layout : layouts) {
    const bool may_burst = plan.limits.bursts != Bursts::never && layout.outputs.bytes() <= kBurstOutputBytesMax;
    sizes.window = std::max(sizes.window, layout.bytes());
    sizes.snapshot = std::max(sizes.snapshot, layout.outputs.bytes());
    sizes.arena = std::max(sizes.arena, arena_bytes(layout, device.info().memory_bytes, may_burst ? kBurstCalls : 0));
  }
  const bool is_gpu = device.info().kind == DeviceKind::cuda;
  // A graph that was captured on the pointers of one call must read stale inputs in another one.
  const std::uint64_t slots_min = is_gpu && plan.trials.graphs == Graphs::allow ? 2 : 1;
  const std::uint64_t slots = is_gpu && sizes.window > 0 ? kSlotsBytesMax / sizes.window : 1;
  sizes.slots = std::clamp<std::uint64_t>(slots, slots_min, kSlotsMax);
  return sizes;
}

bool SubmissionMemory::fits(Device& device, std::span<const Layout> layouts, const Plan& plan) const {
  return sizes_ == sizes(device, layouts, plan);
}

Step<SubmissionMemory> SubmissionMemory::make(Device& device, std::span<const Layout> layouts, const Plan& plan) {
  SubmissionMemory memory;
  memory.sizes_ = sizes(device, layouts, plan);
  // Without room for an arena the child copies its outputs into the window instead.
  KQ_TRY_VALUE(auto window, make_window(device, memory.sizes_.slots, memory.sizes_.window, memory.sizes_.arena));
  memory.window = std::move(window);
  KQ_TRY_VALUE(auto snapshot, make_memory(device, &Device::make_private, memory.sizes_.snapshot));
  memory.snapshot = std::move(snapshot);
  return memory;
}

std::optional<SubmissionMemory> SubmissionMemory::make_ahead(Device& device, std::span<const Layout> layouts,
                                                             const Plan& plan) {
  const Sizes wanted = sizes(device, layouts, plan);
  if (device.info().kind != DeviceKind::cuda ||
      wanted.slots * wanted.window + wanted.snapshot + wanted.arena > kMadeAheadBytesMax)
    return std::nullopt;
  auto made = make(device, layouts, plan);
  if (!made) return std::nullopt;  // the next submission reports the failure
  return std::move(*made);
}

Step<std::unique_ptr<SubmissionSide>> SubmissionSide::open(Device& device, sys::Fd channel, Exits& exits,
                                                           WaitMode wait_mode, const Plan& plan,
                                                           ReferenceSide& reference, std::span<const Layout> layouts,
                                                           std::optional<SubmissionMemory> ahead) {
  auto child = Child::start(std::move(channel), ChildRole::submission, exits, wait_mode);
  if (!child) return stop(child.error());
  if (ahead && !ahead->fits(device, layouts, plan)) ahead.reset();
  KQ_TRY_VALUE(auto memory,
               ahead ? Step<SubmissionMemory>(std::move(*ahead)) : SubmissionMemory::make(device, layouts, plan));
  std::unique_ptr<SubmissionSide> side(new SubmissionSide(device, std::move(*child), reference, std::move(memory)));
  KQ_TRY(side->attach(plan));
  // The child still runs only kq's own code, so its null calls can be trusted.
  KQ_TRY_VALUE(const auto overhead, calibrate(device, *side->child_, side->doing(Phase::setup),
                                              reference.layout().bytes(), plan.limits.load_limit_ms));
  side->overhead_ = overhead;
  return side;
}

void SubmissionSide::describe_workload() {
  const Layout& layout = reference_.layout();
  child_->write_inputs(layout.tables.inputs);
  child_->write_outputs(layout.tables.outputs);
  child_->write_states(layout.tables.states);
}

Step<void> SubmissionSide::change_workload(const Plan& plan) {
  staged_inputs_.clear();
  comparisons_.reset();
  device_findings_.reset();
  may_compare_in_place_ = true;
  slow_comparisons_ = 0;
  correctness_ = {};
  zeros_may_pass_.clear();
  suspicion_.reset();
  allowances_.clear();
  unmatched_.clear();
  idle_kernels_.clear();
  if (slots_ == nullptr) {
    describe_workload();
    return {};
  }
  slots_.reset();  // bursts of the last workload have replaced the window
  return attach(plan);
}

Step<void> SubmissionSide::attach(const Plan& plan) {
  describe_workload();
  child_->send_window(window(), arena());
  KQ_TRY(accept(child_->command({.command = Command::attach, .limit_ms = plan.limits.load_limit_ms}),
                doing(Phase::setup)));
  if (child_->process() != nullptr) child_->process()->note_window(window().fd());
  return {};
}

Step<void> SubmissionSide::load(const Plan& plan, std::uint64_t seed, std::uint32_t workload) {
  if (const auto begun = begin_load(plan, seed, workload); !begun) return begun;
  return finish_load();
}

Step<void> SubmissionSide::begin_load(const Plan& plan, std::uint64_t seed, std::uint32_t workload) {
  const Region& states = reference_.layout().states;
  if (const auto copied = device_.copy(window(), states.begin, reference_.window(), states.begin, states.bytes());
      !copied)
    return stop(copied.error());
  child_->write_trees(reference_.trees());
  child_->write_has_forbidden(reference_.has_forbidden());
  // From here on the child runs the submission's code.
  child_->begin({.command = Command::load, .limit_ms = plan.limits.load_limit_ms, .seed = seed, .workload = workload});
  return {};
}

Step<void> SubmissionSide::finish_load() {
  KQ_TRY_VALUE(const auto loaded, accept(child_->finish(), doing(Phase::load)));
  unmatched_ = loaded.text;
  return {};
}

void SubmissionSide::begin_staging(const Trial& trial) {
  staged_inputs_ = reference_.inputs();
  const std::uint64_t shift = shift_of(trial);
  child_->write_inputs(shifted(staged_inputs_, shift));
  child_->write_outputs(shifted(reference_.layout().tables.outputs, shift));
  judge::begin_staging(*child_, {.command = Command::call, .limit_ms = trial.limit_ms});
}

Step<void> SubmissionSide::finish_staging(const Trial& trial) {
  auto staged = accept(child_->finish(), doing(Phase::run));
  if (!staged) return tl::unexpected(staged.error());
  if (std::ranges::equal(staged_inputs_, reference_.inputs(), same_number)) return {};
  // The plain inputs of this trial differ from those that were staged.
  begin_staging(trial);
  staged = accept(child_->finish(), doing(Phase::run));
  if (!staged) return tl::unexpected(staged.error());
  return {};
}

Step<SubmissionSide::CallResult> SubmissionSide::call(const Plan& plan, const Trial& trial) {
  device_findings_.reset();
  const Layout& layout = reference_.layout();
  const Region& inputs = layout.inputs;
  const Region& outputs = layout.outputs;
  const std::uint64_t shift = shift_of(trial);
  auto prepare = [&]() -> Expected<void> {
    const auto poisoned = device_.fill(window(), shift + outputs.begin, outputs.bytes(), trial.poison).and_then([&] {
      return poison_previous_outputs(trial.poison);
    });
    if (!poisoned) return poisoned;
    for (const auto& [region, from] : reference_.input_copies().pieces(inputs)) {
      if (const auto copied = device_.copy(window(), shift + region.begin, from.memory, from.offset, region.bytes());
          !copied)
        return copied;
    }
    return {};
  };
  const OutputSource from{.window = window(), .shift = shift, .arena = arena(), .process = child_->process()};
  std::unique_ptr<Memory> in_place;
  auto take = [&](const Answered& answered) {
    if (!plan.constant_passes) in_place = outputs_to_compare_in_place(trial, from, answered.tables.outputs);
    if (in_place) return compare_in_place(plan, trial, *in_place);
    return take_outputs(device_, layout, from, answered.tables.outputs, *memory_.snapshot).map([&] {
      child_->fill_in_process(answered.tables.outputs, trial.poison);
    });
  };
  const CommandRequest request{.command = Command::call,
                               .limit_ms = trial.limit_ms,
                               .launch_limit_ms = trial.launch_limit_ms,
                               .seed = trial.seed,
                               .is_watched = trial.is_watched};
  const ConcurrentWarmUps* const warm_ups = device_.concurrent_warm_ups();
  const auto before = warm_ups == nullptr ? ConcurrentWarmUps::Seen() : warm_ups->look();
  auto outcome = time_command(device_, *child_, request, {.prepare = prepare, .take = take});
  const auto findings = finish_device_check();
  KQ_TRY_VALUE(auto called, accept(std::move(outcome), doing(Phase::run)));
  if (!findings) return tl::unexpected(findings.error());
  if (trial.number < kWatchedCalls) idle_kernels_ = called.text;
  const std::int64_t occupancy_gap_ns = device_.occupancy_gap_ns();
  const double slowness = device_.memory_slowness();
  KQ_TRY(record_returned(called.tables.outputs));
  // On a slow device a comparison in place takes longer than kForeignGapNs. A submission's own work beside it does not
  // cause such gaps in several consecutive calls, but children that warm up do.
  const bool is_slow = in_place && occupancy_gap_ns > overhead_.occupancy_gap_ns + kForeignGapNs;
  if (warm_ups == nullptr || !warm_ups->has_run_since(before)) slow_comparisons_ = is_slow ? slow_comparisons_ + 1 : 0;
  const bool is_inconclusive = in_place && (slow_comparisons_ == kSlowComparisonsMax || !is_all_found_equal(*findings));
  if (in_place && !is_inconclusive) device_findings_ = *findings;
  if (is_inconclusive) {
    may_compare_in_place_ = false;
    const auto taken = take_outputs(device_, layout, from, called.tables.outputs, *memory_.snapshot);
    if (!taken) return stop(taken.error());
  }
  return CallResult{called.interval_ns,
                    called.event_ns,
                    occupancy_gap_ns,
                    called.is_early,
                    is_inconclusive,
                    std::move(called.tables.outputs),
                    slowness};
}

Step<void> SubmissionSide::inspect(const Plan& plan, std::uint64_t seed) {
  if (plan.backend == Backend::cuda) return {};
  const Layout& layout = reference_.layout();
  for (const auto& [region, from] : reference_.input_copies().pieces(layout.inputs)) {
    const auto copied = device_.copy(window(), region.begin, from.memory, from.offset, region.bytes());
    if (!copied) return stop(copied.error());
  }
  child_->write_inputs(reference_.inputs());
  child_->write_outputs(layout.tables.outputs);
  KQ_TRY_VALUE(
      const auto found,
      accept(child_->command({.command = Command::inspect, .limit_ms = plan.limits.load_limit_ms, .seed = seed}),
             doing(Phase::run)));
  if (found.text.empty()) return {};
  Evidence forbidden =
      evidence(Stage::judge, "policy", "the submission " + found.text + ", which FORBIDDEN of the problem names");
  forbidden.rule = "forbidden";
  forbidden.place = place_in(found.text);
  forbidden.hint = "replace the call by a kernel of the submission's own";
  return stop(VerdictName::rejected, std::move(forbidden));
}

// Returns a view of the outputs to compare in place, or null where they are copied. The first trial's are always
// copied, because its check finds out which outputs are small.
std::unique_ptr<Memory> SubmissionSide::outputs_to_compare_in_place(const Trial& trial, const OutputSource& from,
                                                                    std::span<const Tensor> got) const {
  const Layout& layout = reference_.layout();
  const bool is_large = device_.info().kind == DeviceKind::cuda && layout.outputs.bytes() >= kInPlaceBytesMin;
  if (!is_large || correctness_.trials_passed == 0 || !may_compare_in_place_ ||
      !check_forms(trial, expectation(trial), got))
    return nullptr;
  return outputs_in_place(layout, from, got);
}

Expected<void> SubmissionSide::compare_in_place(const Plan& plan, const Trial& trial, const Memory& outputs) {
  const Expectation copied = expectation(trial);  // as if the outputs were copied into the snapshot
  const std::vector<DeviceComparison> wanted = device_comparisons(
      plan, trial, {copied.inputs, copied.outputs, copied.input_copies, copied.expected, outputs, copied.shift, true});
  if (wanted.size() > kDeviceComparisonsMax) {  // without comparisons the call is inconclusive and is repeated
    may_compare_in_place_ = false;
    return {};
  }
  // The degenerate-tolerance check of small outputs reads the snapshot.
  for (std::size_t i = 0; i < zeros_may_pass_.size(); ++i) {
    if (!zeros_may_pass_[i]) continue;
    const Region part = sampled_region(trial, copied.outputs[i]);
    const std::uint64_t at = part.begin - reference_.layout().outputs.begin;
    KQ_TRY(device_.copy(copied.snapshot, at, outputs, at, part.bytes()));
  }
  KQ_TRY_VALUE(auto begun, device_.start_comparisons(wanted));
  comparisons_.emplace(std::move(begun));
  return {};
}

bool SubmissionSide::is_all_found_equal(const DeviceFindings& findings) const {
  const std::vector<Tensor>& expected = reference_.outputs();
  const auto is_equal = [&](std::size_t i) {
    return expected[i].kind != channel::Kind::tensor || (i < findings.outputs.size() && findings.outputs[i]);
  };
  const bool are_outputs_right = std::ranges::all_of(std::views::iota(std::size_t{0}, expected.size()), is_equal);
  return are_outputs_right && findings.gaps && (findings.inputs || !must_keep_all_inputs());
}

SubmissionSide::Expectation SubmissionSide::expectation(const Trial& trial) const {
  return {reference_.inputs(),           reference_.outputs(), reference_.input_copies(),
          reference_.expected_outputs(), *memory_.snapshot,    shift_of(trial)};
}

Step<void> SubmissionSide::begin_check(const Plan& plan, const Trial& trial, const CallResult& called) {
  return start_device_check(plan, trial, expectation(trial), called.outputs);
}

Step<void> SubmissionSide::check(const Plan& plan, const Trial& trial, const CallResult& called) {
  return finish_check(plan, trial, expectation(trial), called.outputs);
}

Step<void> SubmissionSide::check(const Plan& plan, const Trial& trial, const Expectation& expectation,
                                 std::span<const Tensor> got) {
  if (const auto begun = start_device_check(plan, trial, expectation, got); !begun) return begun;
  return finish_check(plan, trial, expectation, got);
}

// Starts the comparisons on the device. Where there are more than the device can make at once, the judge makes them one
// by one in finish_check().
Step<void> SubmissionSide::start_device_check(const Plan& plan, const Trial& trial, const Expectation& expectation,
                                              std::span<const Tensor> got) {
  if (device_findings_ || !check_forms(trial, expectation, got)) return {};
  const std::vector<DeviceComparison> wanted = device_comparisons(plan, trial, expectation);
  if (wanted.size() > kDeviceComparisonsMax) return {};
  auto begun = device_.start_comparisons(wanted);
  if (!begun) return stop(begun.error());
  comparisons_.emplace(std::move(*begun));
  return {};
}

// Returns the comparisons in this order: outputs that are tensors, the gaps between outputs, and all inputs unless the
// reference changes some of them.
std::vector<DeviceComparison> SubmissionSide::device_comparisons(const Plan& plan, const Trial& trial,
                                                                 const Expectation& expectation) const {
  const Region& outputs = reference_.layout().outputs;
  const Region& inputs = reference_.layout().inputs;
  std::vector<DeviceComparison> wanted;
  for (const Tensor& output : expectation.outputs) {
    if (output.kind != channel::Kind::tensor) continue;
    const std::uint64_t at = output.offset - outputs.begin;
    wanted.push_back({.expected = &expectation.expected,
                      .expected_offset = at,
                      .got = &expectation.snapshot,
                      .got_offset = at,
                      .bytes = output.bytes,
                      .dtype = output.dtype,
                      .tolerance = tolerance_for(output.dtype, plan.rtol, plan.atol, output.tolerance)});
  }
  for (const Region& gap : gaps(outputs, reference_.layout().tables.outputs)) {
    DeviceComparison comparison{.got = &expectation.snapshot,
                                .got_offset = gap.begin - outputs.begin,
                                .bytes = gap.bytes(),
                                .word = trial.poison};
    if (expectation.is_in_place) comparison.got = &window(), comparison.got_offset = expectation.shift + gap.begin;
    wanted.push_back(comparison);
  }
  if (!must_keep_all_inputs()) return wanted;
  for (const auto& [region, at] : expectation.input_copies.pieces(inputs)) {
    wanted.push_back({.expected = &at.memory,
                      .expected_offset = at.offset,
                      .got = &window(),
                      .got_offset = expectation.shift + region.begin,
                      .bytes = region.bytes()});
  }
  return wanted;
}

Step<SubmissionSide::DeviceFindings> SubmissionSide::finish_device_check() {
  if (!comparisons_) return DeviceFindings{};
  const std::size_t comparison_count = comparisons_->count();
  const auto results = std::move(*comparisons_).finish();
  comparisons_.reset();
  if (!results) return stop(results.error());
  if (results->empty()) return DeviceFindings{};
  KQ_CHECK(results->size() == comparison_count);
  DeviceFindings findings;
  auto next = results->begin();
  for (const Tensor& output : reference_.outputs())
    findings.outputs.push_back(output.kind == channel::Kind::tensor ? *next++ : std::nullopt);
  const auto is_equal = [](const auto& one) { return one.has_value(); };
  const auto behind =
      next + static_cast<std::ptrdiff_t>(gaps(reference_.layout().outputs, reference_.layout().tables.outputs).size());
  findings.gaps = std::all_of(next, behind, is_equal);
  findings.inputs = must_keep_all_inputs() && std::all_of(behind, results->end(), is_equal);
  return findings;
}

bool SubmissionSide::must_keep_all_inputs() const {
  return std::ranges::count(reference_.mutable_inputs(), true) == 0;
}

Step<void> SubmissionSide::attach_slots(const Plan& plan, std::unique_ptr<Memory> window, std::uint32_t slots,
                                        std::uint32_t calls) {
  const Layout& layout = reference_.layout();
  slots_ = std::move(window);
  child_->write_slots(slots, layout.bytes(), calls);
  child_->write_inputs(reference_.inputs());
  std::vector<Tensor> rows;
  for (std::uint32_t i = 0; i < calls; ++i)
    rows.insert(rows.end(), layout.tables.outputs.begin(), layout.tables.outputs.end());
  child_->write_outputs(rows);
  child_->write_states(layout.tables.states);
  child_->send_window(*slots_);
  KQ_TRY(
      accept(child_->command({.command = Command::attach, .limit_ms = plan.limits.load_limit_ms}), doing(Phase::run)));
  return {};
}

Step<Answered> SubmissionSide::run_burst(std::span<const std::uint16_t> slots, const Trial& trial,
                                         const IntervalHooks& hooks) {
  child_->write_inputs(reference_.inputs());
  std::vector<Tensor> rows;
  for (std::size_t i = 0; i < slots.size(); ++i)
    rows.insert(rows.end(), reference_.layout().tables.outputs.begin(), reference_.layout().tables.outputs.end());
  child_->write_outputs(rows);
  const CommandRequest request{
      .command = Command::burst, .limit_ms = trial.limit_ms, .slots = slots, .seed = trial.seed};
  if (const auto staged = accept(stage(*child_, request), doing(Phase::run)); !staged) return staged;
  auto called = accept(time_command(device_, *child_, request, hooks), doing(Phase::run));
  if (!called) return called;
  KQ_TRY(record_returned(called->tables.outputs));
  return called;
}

// The harness leaves an output in the arena only where the submission keeps no reference to the output
// (gpu_worker/harness/children/command_handler.py). The next call is already staged, so no process uses that memory
// now.
Expected<void> SubmissionSide::poison_previous_outputs(std::uint32_t poison) {
  for (const Region& region : std::exchange(previous_outputs_, {})) {
    if (const auto filled = device_.fill(*arena().memory, arena().begin + region.begin, region.bytes(), poison);
        !filled)
      return filled;
  }
  return {};
}

Step<void> SubmissionSide::check_runs_nothing() {
  const std::string what = child_->runs_without_command();
  if (what.empty()) return {};
  return stop(VerdictName::rejected, runs_between_calls(what + " while no call was made"));
}

Step<void> SubmissionSide::record_returned(const std::vector<Tensor>& got) {
  if (!are_in_bounds(got, arena(), child_->process())) {
    Evidence found = evidence(Stage::judge, "tamper", "the submission reported an output outside of its memory");
    found.rule = "channel";
    return stop(VerdictName::rejected, std::move(found));
  }
  previous_outputs_ = regions_in_arena(got);
  return {};
}

Step<void> SubmissionSide::finish_check(const Plan& plan, const Trial& trial, const Expectation& expectation,
                                        std::span<const Tensor> got) {
  KQ_TRY_VALUE(const auto findings,
               device_findings_ ? Step<DeviceFindings>(*std::exchange(device_findings_, {})) : finish_device_check());
  if (const auto right = check_forms(trial, expectation, got); !right) return right;
  if (const auto right = findings.gaps ? Step<void>() : check_gaps(trial, expectation); !right) return right;
  if (auto right = check_values(plan, trial, expectation, got, findings); !right)
    return findings.inputs ? right : with_changed_input(std::move(right), check_inputs(trial, expectation));
  if (const auto right = findings.inputs ? Step<void>() : check_inputs(trial, expectation); !right) return right;
  ++correctness_.trials_passed;
  return {};
}

Step<void> SubmissionSide::check_forms(const Trial& trial, const Expectation& expectation,
                                       std::span<const Tensor> got) const {
  const std::vector<Tensor>& expected = expectation.outputs;
  const auto wrong_form = [&](std::size_t output, std::string reason, const std::string& message, Mismatch forms,
                              std::string hint) -> tl::unexpected<Stop> {
    auto stopped = wrong_answer(trial, std::move(reason), message);
    Evidence& found = std::get<Ended>(stopped.value()).evidence;
    forms.trial = trial.number;
    forms.output = static_cast<std::uint32_t>(output);
    found.mismatch = std::move(forms);
    found.hint = std::move(hint);
    return stopped;
  };
  if (got.size() != expected.size()) {
    const std::string is = std::to_string(got.size()) + " outputs", must_be = std::to_string(expected.size());
    return wrong_form(0, "shape", "the submission returned " + is + ", must be " + must_be,
                      {.expected_form = must_be + " outputs", .got_form = is}, {});
  }
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const FormDifference found = difference(expected[i], got[i]);
    if (found.reason.empty()) continue;
    const Appearance looks = appearance_of_form(expected[i], got[i]);
    return wrong_form(i, found.reason, output_name(i) + " " + found.message,
                      {.looks_like = looks.word, .expected_form = describe(expected[i]), .got_form = describe(got[i])},
                      looks.sentence);
  }
  return {};
}

Step<void> SubmissionSide::check_gaps(const Trial& trial, const Expectation& expectation) {
  const Region& region = reference_.layout().outputs;
  for (const Region& gap : gaps(region, reference_.layout().tables.outputs)) {
    const auto difference =
        checks_.difference(trial.poison, {expectation.snapshot, gap.begin - region.begin}, gap.bytes());
    if (!difference) return stop(difference.error());
    if (!*difference) continue;
    return wrong_answer(trial, "mutated_input",
                        "the submission wrote outside of its outputs, at byte " +
                            std::to_string(gap.begin + **difference) + " of the window");
  }
  return {};
}

Step<void> SubmissionSide::check_inputs(const Trial& trial, const Expectation& expectation) {
  const Region& region = reference_.layout().inputs;
  const std::vector<Tensor>& inputs = expectation.inputs;
  auto first_change = [&](const Region& part) -> Expected<std::optional<std::uint64_t>> {
    for (const auto& [piece, at] : expectation.input_copies.pieces(part)) {
      KQ_TRY_VALUE(const auto change,
                   checks_.difference(at, {window(), expectation.shift + piece.begin}, piece.bytes()));
      if (change) return piece.begin - part.begin + *change;
    }
    return std::nullopt;
  };
  // Compare all inputs at once first, because each access to device memory costs more than the comparison itself.
  if (must_keep_all_inputs()) {
    const auto change = first_change(region);
    if (!change) return stop(change.error());
    if (!*change) return {};
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (reference_.mutable_inputs()[i]) continue;
    const auto change = first_change({inputs[i].offset, inputs[i].offset + inputs[i].bytes});
    if (!change) return stop(change.error());
    if (!*change) continue;
    return wrong_answer(trial, "mutated_input",
                        "the submission changed its input " + std::to_string(i) + " (" + inputs[i].name + ") at " +
                            place_of_byte(inputs[i], **change));
  }
  for (const Region& gap : gaps(region, inputs)) {
    const auto change = first_change(gap);
    if (!change) return stop(change.error());
    if (!*change) continue;
    return wrong_answer(trial, "mutated_input",
                        "the submission wrote outside of its inputs, at byte " + std::to_string(gap.begin + **change) +
                            " of the window");
  }
  return {};
}

std::uint32_t poison_word(std::uint64_t random) {
  // Each half is NaN as float16 and as bfloat16. The upper half also makes the float32 and the float64 that begin with
  // it NaN.
  constexpr std::uint32_t kNan = 0x7FF8'7FC0;
  constexpr std::uint32_t kFree = 0x8007'803F;  // signs and low bits of the payloads
  return kNan | (static_cast<std::uint32_t>(random) & kFree);
}

}  // namespace kq::judge
