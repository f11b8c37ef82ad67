#include "gpu_worker/judge/trial/reference_side.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gpu_worker/judge/device/clock.h"
#include "gpu_worker/judge/timing/timed_interval.h"
#include "gpu_worker/judge/trial/outputs.h"

namespace kq::judge {
namespace {

using channel::Command;

constexpr const char* kOutputsChangedForm = "returns outputs of another shape or dtype for another seed";
constexpr std::uint64_t kSlotsBytesMax = 64ull << 20;  // of all slots of a window
// Memory up to this size is kept from job to job, because allocating and freeing it takes 5 ms while other processes
// use the driver (H200).
constexpr std::uint64_t kRepeatedOutputsBytesMax = 64ull << 20;
// Trials of at least this size are kept in place. At about 200 MB a copy takes as long as is saved by checking a call
// while the reference computes the next trial (H200: 4 TB/s, 0.2 ms).
constexpr std::uint64_t kInPlaceTrialBytesMin = 256ull << 20;
constexpr std::uint32_t kCompileLimitFactor = 5;  // torch.compile takes minutes for a large model

tl::unexpected<Stop> invalid(const std::string& message) {
  return stop(VerdictName::problem_invalid, evidence(Stage::judge, {}, "the reference " + message));
}

// Returns for how many trials of one command a window and the table of outputs have room.
std::size_t slots_of(const Layout& layout) {
  const std::size_t rows = std::max<std::size_t>(layout.tables.outputs.size(), 1);
  return std::max<std::size_t>(std::min({std::size_t{channel::kAnswersMax}, channel::kOutputsMax / rows,
                                         std::size_t{kSlotsBytesMax / layout.bytes()}}),
                               1);
}

}  // namespace

Step<std::unique_ptr<ReferenceSide>> ReferenceSide::open(Device& device, sys::Fd channel, Exits& exits,
                                                         WaitMode wait_mode, const Plan& plan) {
  auto child = Child::start(std::move(channel), ChildRole::reference, exits, wait_mode);
  if (!child) return stop(child.error());
  std::unique_ptr<ReferenceSide> side(new ReferenceSide(device, std::move(*child)));
  // Until its first `load` the child runs only kq's own code, so a failure here is not the problem's fault.
  KQ_TRY(accept(side->child_->command({.command = Command::null_call, .limit_ms = plan.limits.load_limit_ms}),
                side->doing(Phase::setup)));
  return side;
}

Step<void> ReferenceSide::load(const Plan& plan, std::uint64_t seed, std::uint32_t workload) {
  KQ_TRY_VALUE(auto layout, describe(plan, seed, workload));
  return use(plan, std::move(layout));
}

Step<Layout> ReferenceSide::describe(const Plan& plan, std::uint64_t seed, std::uint32_t workload) {
  drop_outputs_in_place();
  auto outcome = child_->command(
      {.command = Command::load, .limit_ms = plan.limits.load_limit_ms, .seed = seed, .workload = workload});
  const auto* const loaded = outcome ? std::get_if<Answered>(&*outcome) : nullptr;
  if (loaded != nullptr && !loaded->workloads.empty()) workloads_ = loaded->workloads;
  KQ_TRY_VALUE(auto described, accept(std::move(outcome), doing(Phase::load)));
  trees_ = std::move(described.trees);
  has_check_ = described.has_check;
  has_forbidden_ = described.has_forbidden;
  wants_own_kernels_ = described.wants_own_kernels;
  Layout layout = make_layout(std::move(described.tables));
  if (layout.bytes() <= plan.limits.window_bytes_max) return layout;
  return stop(VerdictName::too_large,
              evidence(Stage::load, {},
                       "inputs, outputs and state need " + format_bytes(layout.bytes()) +
                           ", but the window may have only " + format_bytes(plan.limits.window_bytes_max)));
}

Step<Layout> ReferenceSide::describe_once(const Plan& plan, std::uint64_t seed, std::uint32_t workload) {
  if (const auto known = known_layouts_.find(workload); known != known_layouts_.end()) return known->second;
  KQ_TRY_VALUE(auto layout, describe(plan, seed, workload));
  known_layouts_.insert_or_assign(workload, layout);
  return layout;
}

Step<void> ReferenceSide::use(const Plan& plan, Layout layout) {
  const std::int64_t limit_ms = plan.limits.load_limit_ms;
  const bool is_same_layout = window_.memory && fits(layout_, layout.tables);
  const bool needs_window = !is_same_layout && !has_room_for(layout);
  if (is_same_layout) {
    layout_.tables = std::move(layout.tables);  // whose names and tolerances may be others
  } else {
    repeated_outputs_.reset();
    trials_.clear();
    layout_ = std::move(layout);
    if (needs_window) {
      KQ_TRY(make_window_for(layout_));
    }
    slots_ = std::min<std::uint64_t>(window_.slots, slots_of(layout_));
    KQ_TRY(trials_.lay_out(layout_));
    child_->write_slots(static_cast<std::uint32_t>(slots_), layout_.bytes(), 0);
  }
  child_->write_inputs(layout_.tables.inputs);
  child_->write_outputs(layout_.tables.outputs);
  child_->write_states(layout_.tables.states);
  if (needs_window) {
    child_->send_window(window(), arena_);
    KQ_TRY(accept(child_->command({.command = Command::attach, .limit_ms = limit_ms}), doing(Phase::load)));
  }
  KQ_TRY(accept(child_->command({.command = Command::put_state, .limit_ms = limit_ms}), doing(Phase::load)));
  mutable_.assign(layout_.tables.inputs.size(), false);
  trials_.discard_ahead();  // another model has made them
  trial_ns_ = is_same_layout ? trial_ns_ : 0;
  trials_.forget_earlier();
  truth_kind_ = 0;
  return plan.trials.baseline == Baseline::compile ? compile(plan) : Step<void>();
}

void ReferenceSide::reserve(std::span<const Layout> layouts) {
  for (const Layout& layout : layouts) {
    reserved_slot_bytes_ = std::max(reserved_slot_bytes_, layout.bytes());
    reserved_arena_bytes_ = std::max(reserved_arena_bytes_, arena_bytes(layout, device_.info().memory_bytes));
  }
}

Step<void> ReferenceSide::compile(const Plan& plan) {
  child_->write_inputs(layout_.tables.inputs);
  child_->write_outputs(layout_.tables.outputs);
  KQ_TRY(accept(
      child_->command({.command = Command::compile, .limit_ms = plan.limits.load_limit_ms * kCompileLimitFactor}),
      doing(Phase::load)));
  return {};
}

// Returns whether the window's slots can hold the layout. A window that was made for one workload is kept only for a
// layout of its own size, because more slots and a smaller arena would fit another one better.
bool ReferenceSide::has_room_for(const Layout& layout) const {
  return window_.memory && reserved_slot_bytes_ > 0 && layout.bytes() <= slot_bytes_;
}

Step<void> ReferenceSide::make_window_for(const Layout& layout) {
  // The old window is freed first, because there may be no room for both. But a child keeps its arena.
  if (window_.arena.memory != nullptr) kept_ = std::move(window_.memory);
  window_ = {};
  slot_bytes_ = std::max(layout.bytes(), reserved_slot_bytes_);
  const std::uint64_t slots = std::clamp<std::uint64_t>(kSlotsBytesMax / slot_bytes_, 1, slots_of(layout));
  const std::uint64_t arena = std::max(arena_bytes(layout, device_.info().memory_bytes), reserved_arena_bytes_);
  KQ_TRY_VALUE(auto window, make_window(device_, slots, slot_bytes_, arena_.memory != nullptr ? 0 : arena));
  window_ = std::move(window);
  if (arena_.memory == nullptr) arena_ = window_.arena;
  return {};
}

Step<ReferenceSide::CallResult> ReferenceSide::make_timed_trial(const Plan& plan, const Seeds& seeds) {
  begin_inputs(plan, seeds);
  KQ_TRY(finish_inputs());
  return time_trial(plan, seeds);
}

void ReferenceSide::begin_inputs(const Plan& plan, const Seeds& seeds) {
  drop_outputs_in_place();
  child_->write_inputs(layout_.tables.inputs);  // the rows of another command may name other places
  child_->begin({.command = Command::make_inputs, .limit_ms = plan.limits.load_limit_ms, .seed = seeds.inputs});
}

Step<void> ReferenceSide::finish_inputs() {
  KQ_TRY_VALUE(const auto drawn, accept(finish_command(), doing(Phase::run)));
  return keep_inputs(drawn.tables.inputs, 0, trials_.current());
}

Step<ReferenceSide::CallResult> ReferenceSide::time_trial(const Plan& plan, const Seeds& seeds) {
  ReferenceTrial& answer = trials_.current();
  const bool is_compiled = plan.trials.baseline == Baseline::compile;
  KQ_TRY_VALUE(const auto compiled,
               is_compiled ? call(plan, seeds.calls, *answer.expected, Command::call_compiled) : Step<Answered>());
  const std::int64_t compiled_gap_ns = is_compiled ? device_.occupancy_gap_ns() : 0;
  const double compiled_slowness = device_.memory_slowness();
  KQ_TRY_VALUE(auto called, call(plan, seeds.calls, *answer.expected));
  const std::int64_t occupancy_gap_ns = device_.occupancy_gap_ns();
  const double slowness = device_.memory_slowness();
  keep_outputs(called.tables.outputs, answer);
  KQ_TRY(note_mutated_inputs());
  if (is_compiled) return CallResult{compiled.interval_ns, compiled.event_ns, compiled_gap_ns, compiled_slowness};
  return CallResult{called.interval_ns, called.event_ns, occupancy_gap_ns, slowness};
}

Step<void> ReferenceSide::make_trial(const Plan& plan, const Seeds& seeds) {
  begin_trial(plan, seeds);
  return finish_trial();
}

void ReferenceSide::begin_trial(const Plan& plan, const Seeds& seeds) {
  begin_answers(plan, input_rows_to_request(), std::span(&seeds, 1));
}

bool ReferenceSide::is_large() const {
  return layout_.inputs.bytes() + layout_.outputs.bytes() >= kInPlaceTrialBytesMin;
}

// Returns the rows of inputs for a command. A large tensor that is the only one, and that the model does not change, is
// requested in the arena where it is drawn, so that it need not be copied.
std::vector<Tensor> ReferenceSide::input_rows_to_request() const {
  std::vector<Tensor> inputs = layout_.tables.inputs;
  const auto is_tensor = [](const Tensor& input) { return input.kind == channel::Kind::tensor; };
  const bool changes_some = std::ranges::count(mutable_, true) > 0;
  if (arena_.memory == nullptr || !is_large() || changes_some || std::ranges::count_if(inputs, is_tensor) != 1)
    return inputs;
  std::ranges::find_if(inputs, is_tensor)->place = channel::Place::arena;
  return inputs;
}

Step<void> ReferenceSide::finish_trial() {
  KQ_TRY_VALUE(const auto answered, finish_answers());
  return is_large() ? keep_in_place(answered) : keep(answered, 0, 1, trials_.current());
}

Step<std::size_t> ReferenceSide::make_ahead(const Plan& plan, std::span<const Seeds> seeds) {
  const auto begun = begin_ahead(plan, seeds);
  if (!begun) return begun;
  KQ_TRY(finish_ahead());
  return begun;
}

Step<std::size_t> ReferenceSide::begin_ahead(const Plan& plan, std::span<const Seeds> seeds) {
  const auto room = trials_.free_count();
  if (!room) return stop(room.error());
  const std::size_t slots = std::min({seeds.size(), *room, std::size_t{slots_}});
  if (slots > 0) begin_answers(plan, layout_.tables.inputs, seeds.first(slots));
  is_ahead_requested_ = slots > 0;
  return slots;
}

Step<void> ReferenceSide::finish_ahead() {
  if (!std::exchange(is_ahead_requested_, false)) return {};
  KQ_TRY_VALUE(const auto answered, finish_answers());
  CopyBatch copies = device_.batch_copies();
  const auto kept = keep_all(answered);
  const auto copied = std::move(copies).finish();
  if (!kept) return kept;
  if (!copied) return stop(copied.error());
  return {};
}

Step<void> ReferenceSide::keep_all(const Answered& answered) {
  for (std::size_t slot = 0; slot < requested_seeds_.size(); ++slot) {
    ReferenceTrial& answer = trials_.next_free();
    if (const auto kept = keep(answered, slot, requested_seeds_.size(), answer); !kept) return kept;
    answer.seeds = requested_seeds_[slot];
    trials_.push_ahead();
  }
  return {};
}

void ReferenceSide::begin_answers(const Plan& plan, const std::vector<Tensor>& inputs, std::span<const Seeds> seeds) {
  drop_outputs_in_place();
  const std::vector<Tensor>& outputs = layout_.tables.outputs;
  std::vector<Tensor> rows;
  for (std::size_t i = 0; i < seeds.size(); ++i) rows.insert(rows.end(), outputs.begin(), outputs.end());
  child_->write_inputs(inputs);
  child_->write_outputs(rows);
  child_->write_answer_seeds(seeds);
  requested_seeds_.assign(seeds.begin(), seeds.end());
  requested_at_ns_ = clock_ns();
  child_->begin(
      {.command = Command::answer, .limit_ms = plan.limits.load_limit_ms * static_cast<std::int64_t>(seeds.size())});
}

Step<Answered> ReferenceSide::finish_answers() {
  const bool is_held = held_outcome_.has_value();
  auto answered = accept(finish_command(), doing(Phase::run));
  if (!is_held) trial_ns_ = (clock_ns() - requested_at_ns_) / static_cast<std::int64_t>(requested_seeds_.size());
  return answered;
}

// Copies the trial that the child has computed in one of `slots` slots.
Step<void> ReferenceSide::keep(const Answered& answered, std::size_t slot, std::size_t slots, ReferenceTrial& answer) {
  const std::size_t width = layout_.tables.outputs.size();
  const std::span<const Tensor> rows(answered.tables.outputs);
  if (rows.size() != slots * width) return invalid(kOutputsChangedForm);
  const auto outputs = rows.subspan(slot * width, width);
  const std::uint64_t shift = slot * layout_.bytes();
  if (const auto kept = keep_inputs(answered.tables.inputs, shift, answer); !kept) return kept;
  if (const auto right = check_outputs(outputs); !right) return right;
  const auto taken =
      take_outputs(device_, layout_, {.window = window(), .shift = shift, .arena = arena_}, outputs, *answer.expected);
  if (!taken) return stop(taken.error());
  keep_outputs(outputs, answer);
  return {};
}

Step<void> ReferenceSide::keep_in_place(const Answered& answered) {
  ReferenceTrial& answer = trials_.current();
  const std::vector<Tensor>& inputs = answered.tables.inputs;
  const std::vector<Tensor>& outputs = answered.tables.outputs;
  if (const auto right = check_inputs(inputs, 1); !right) return right;
  keep_plain_values(inputs, answer);
  if (const auto right = check_outputs(outputs); !right) return right;
  const OutputSource from{.window = window(), .arena = arena_};
  in_place_inputs_ = std::make_unique<PartMemory>(window(), layout_.inputs.begin, layout_.inputs.bytes());
  if (const auto left = std::ranges::find(inputs, channel::Place::arena, &Tensor::place); left != inputs.end()) {
    const Tensor& tensor = layout_.tables.inputs[static_cast<std::size_t>(left - inputs.begin())];
    in_place_copies_.emplace(*in_place_inputs_, layout_.inputs, Region{tensor.offset, tensor.offset + tensor.bytes},
                             Location{*arena_.memory, arena_.begin + left->offset});
  }
  in_place_outputs_ = outputs_in_place(layout_, from, outputs);
  const auto taken =
      in_place_outputs_ ? Expected<void>() : take_outputs(device_, layout_, from, outputs, *answer.expected);
  if (!taken) return stop(taken.error());
  keep_outputs(outputs, answer);
  // This small copy makes the GPU switch back to the judge here. Otherwise the switch, 150 us on an H200, would come at
  // the next call and look like the work of another process.
  const auto back = device_.copy(*answer.input_copies, 0, window(), layout_.inputs.begin,
                                 std::min<std::uint64_t>(layout_.inputs.bytes(), channel::kAlign));
  return back ? Step<void>() : stop(back.error());
}

InputCopies ReferenceSide::input_copies() const {
  return in_place_copies_ ? *in_place_copies_ : InputCopies(input_memory(), layout_.inputs);
}

void ReferenceSide::drop_outputs_in_place() {
  in_place_copies_.reset();
  in_place_inputs_.reset();
  in_place_outputs_.reset();
}

void ReferenceSide::settle() {
  if (child_->is_busy()) (void)child_->finish();
  held_outcome_.reset();
  is_ahead_requested_ = false;
  trials_.discard_ahead();
}

Step<void> ReferenceSide::keep_inputs(const std::vector<Tensor>& drawn, std::uint64_t shift, ReferenceTrial& answer) {
  if (const auto right = check_inputs(drawn, 0); !right) return right;
  keep_plain_values(drawn, answer);
  const Region& region = layout_.inputs;
  if (const auto copied = device_.copy(*answer.input_copies, 0, window(), shift + region.begin, region.bytes());
      !copied)
    return stop(copied.error());
  return {};
}

// Checks the rows of inputs, of which at most in_arena_max may lie in the arena.
Step<void> ReferenceSide::check_inputs(const std::vector<Tensor>& drawn, int in_arena_max) const {
  if (!same_form(layout_.tables.inputs, drawn))
    return invalid("draws inputs of another shape, dtype or memory layout for another seed");
  const bool are_too_many = std::ranges::count(drawn, channel::Place::arena, &Tensor::place) > in_arena_max;
  if (are_too_many || !are_in_bounds(drawn, arena_)) return invalid("reported an input outside of its memory");
  return {};
}

void ReferenceSide::keep_plain_values(const std::vector<Tensor>& drawn, ReferenceTrial& answer) const {
  answer.inputs = layout_.tables.inputs;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    answer.inputs[i].integer = drawn[i].integer;
    answer.inputs[i].real = drawn[i].real;
  }
}

void ReferenceSide::keep_outputs(std::span<const Tensor> computed, ReferenceTrial& answer) {
  answer.outputs = layout_.tables.outputs;
  for (std::size_t i = 0; i < computed.size(); ++i) {
    answer.outputs[i].integer = computed[i].integer;
    answer.outputs[i].real = computed[i].real;
  }
}

Step<void> ReferenceSide::check_outputs(std::span<const Tensor> computed) const {
  if (!are_in_bounds(computed, arena_, child_->process())) return invalid("reported an output outside of its memory");
  if (!same_form(layout_.tables.outputs, computed)) return invalid(kOutputsChangedForm);
  return {};
}

Step<void> ReferenceSide::check_determinism(const Plan& plan, std::uint64_t seed) {
  KQ_TRY_VALUE(const auto difference, compare_repeated_call(plan, seed));
  if (!difference) return {};
  Evidence found = evidence(Stage::judge, "nondeterministic",
                            "the reference disagrees with itself: output " + std::to_string(difference->output) +
                                " differs between two calls on the same inputs under the same seed");
  found.mismatch = *difference;
  return stop(VerdictName::problem_invalid, std::move(found));
}

Step<bool> ReferenceSide::depends_on_seed(const Plan& plan, std::uint64_t seed) {
  if (is_kept_in_place()) return true;  // the call would overwrite the outputs to compare with
  KQ_TRY_VALUE(const auto difference, compare_repeated_call(plan, seed));
  return difference.has_value();
}

Step<bool> ReferenceSide::repeats_outputs(const Plan& plan, const Seeds& seeds) {
  const auto kept = device_.make_private(layout_.outputs.bytes());
  if (!kept) return stop(kept.error());
  if (!*kept) return false;
  if (const auto copied = device_.copy(**kept, 0, expected_outputs(), 0, layout_.outputs.bytes()); !copied)
    return stop(copied.error());
  const std::vector<Tensor> before = outputs();
  KQ_TRY(make_trial(plan, seeds));
  for (std::size_t i = 0; i < before.size(); ++i) {
    const Tensor& output = outputs()[i];
    if (output.integer != before[i].integer || output.real != before[i].real) return false;
    if (output.kind != channel::Kind::tensor) continue;
    const std::uint64_t at = output.offset - layout_.outputs.begin;
    const auto difference = checks_.difference(Location{expected_outputs(), at}, {**kept, at}, output.bytes);
    if (!difference) return stop(difference.error());
    if (difference->has_value()) return false;
  }
  return true;
}

Step<std::optional<Mismatch>> ReferenceSide::compare_repeated_call(const Plan& plan, std::uint64_t seed) {
  if (!repeated_outputs_) {
    KQ_TRY_VALUE(auto made, make_memory(device_, &Device::make_private, layout_.outputs.bytes()));
    repeated_outputs_ = std::move(made);
  }
  auto difference = compare_repeated_call_into(*repeated_outputs_, plan, seed);
  if (repeated_outputs_->bytes() > kRepeatedOutputsBytesMax) repeated_outputs_.reset();
  return difference;
}

// Calls again on the current inputs, copies the outputs to `again`, and returns the mismatch of the first output that
// differs.
Step<std::optional<Mismatch>> ReferenceSide::compare_repeated_call_into(const Memory& again, const Plan& plan,
                                                                        std::uint64_t seed) {
  KQ_TRY_VALUE(auto called, call(plan, seed, again));
  for (std::size_t i = 0; i < outputs().size(); ++i) {
    const Tensor& output = outputs()[i];
    const PlainValue first = plain_value(output);
    const bool is_tensor = output.kind == channel::Kind::tensor;
    const channel::Dtype dtype = is_tensor ? output.dtype : first.dtype;
    Comparison comparison(dtype, tolerance_for(dtype, plan.rtol, plan.atol, output.tolerance));
    if (is_tensor) {
      const std::uint64_t at = output.offset - layout_.outputs.begin;
      const auto compared = checks_.compare(comparison, {expected_outputs(), at}, {again, at}, output.bytes);
      if (!compared) return stop(compared.error());
    } else {
      comparison.add(first.bytes, plain_value(called.tables.outputs[i]).bytes);
    }
    if (comparison.equal()) continue;
    Mismatch mismatch = comparison.mismatch();
    mismatch.output = static_cast<std::uint32_t>(i);
    return mismatch;
  }
  return std::nullopt;
}

// Makes one timed call on the original inputs, checks its table of outputs, and copies the outputs to `to`.
Step<Answered> ReferenceSide::call(const Plan& plan, std::uint64_t seed, const Memory& to, Command command) {
  const Region& region = layout_.inputs;
  child_->write_inputs(inputs());
  child_->write_outputs(layout_.tables.outputs);
  auto prepare = [&]() -> Expected<void> {
    // Without a GPU the judge's writes change how fast the child's memory is, so the windows of both sides, and the
    // outputs that a call leaves in its process, are written alike.
    if (child_->process() != nullptr) {
      KQ_TRY(device_.fill(window(), layout_.outputs.begin, layout_.outputs.bytes(), 0));
    }
    return device_.copy(window(), region.begin, input_memory(), 0, region.bytes());
  };
  auto take = [&](const Answered& answered) {
    const OutputSource from{.window = window(), .arena = arena_, .process = child_->process()};
    return take_outputs(device_, layout_, from, answered.tables.outputs, to).map([&] {
      child_->fill_in_process(answered.tables.outputs, 0);
    });
  };
  const CommandRequest request{.command = command, .limit_ms = plan.limits.load_limit_ms, .seed = seed};
  if (const auto staged = accept(stage(*child_, request), doing(Phase::run)); !staged) return staged;
  auto called = accept(time_command(device_, *child_, request, {.prepare = prepare, .take = take}), doing(Phase::run));
  if (!called) return called;
  KQ_TRY(check_outputs(called->tables.outputs));
  return called;
}

Step<void> ReferenceSide::note_mutated_inputs() {
  for (std::size_t i = 0; i < inputs().size(); ++i) {
    if (mutable_[i]) continue;
    const Tensor& input = inputs()[i];
    const auto difference = checks_.difference({input_memory(), input.offset - layout_.inputs.begin},
                                               {window(), input.offset}, input.bytes);
    if (!difference) return stop(difference.error());
    mutable_[i] = difference->has_value();
  }
  return {};
}

PlainValue plain_value(const Tensor& output) {
  auto bytes_of = [](const auto& value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  switch (output.kind) {
    case channel::Kind::none:
    case channel::Kind::tensor:
      return {};
    case channel::Kind::integer:
      return {channel::Dtype::int64, bytes_of(output.integer)};
    case channel::Kind::real:
      return {channel::Dtype::float64, bytes_of(output.real)};
    case channel::Kind::boolean:
      return {channel::Dtype::int64, bytes_of(static_cast<std::int64_t>(output.integer != 0))};
  }
  return {};
}

}  // namespace kq::judge
