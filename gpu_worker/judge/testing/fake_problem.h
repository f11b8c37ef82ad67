// For tests: a tiny problem that fake children compute. The children are honest unless a test twists them.
//
//   inputs   x float32[8], n integer        y = max(x, 0) * w[0] + n
//   outputs  y float32[8], k int32[1]       k = number of x above 0
//   states   w float32[4], of the model's seed
#pragma once

#include <functional>
#include <random>
#include <span>

#include "gpu_worker/judge/attempt.h"
#include "gpu_worker/judge/device/cpu_device.h"
#include "gpu_worker/judge/testing/fake_child.h"

namespace kq::judge {

// What a test adds to an honest child. It runs after the honest work of every command.
using Twist = std::function<void(FakeTurn&)>;

inline channel::TensorDesc fake_tensor(const char* name, channel::Dtype dtype, std::vector<std::int64_t> shape) {
  return row_of({.name = name, .kind = channel::Kind::tensor, .dtype = dtype, .shape = std::move(shape)});
}

template <class T>
T* fake_data(FakeTurn& turn, const channel::TensorDesc& row) {
  return reinterpret_cast<T*>(turn.window + row.offset);
}

inline void fake_workloads(FakeTurn& turn, const std::vector<std::string>& names) {
  turn.page.workload_count = static_cast<std::uint32_t>(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    turn.page.workloads[i] = {.name = {}, .weight = 1};
    names[i].copy(turn.page.workloads[i].name, sizeof turn.page.workloads[i].name - 1);
  }
}

inline void fake_describe(FakeTurn& turn) {
  turn.page.input_count = 2;
  turn.page.inputs[0] = fake_tensor("x", channel::Dtype::float32, {8});
  turn.page.inputs[1] = row_of({.name = "n", .kind = channel::Kind::integer});
  turn.page.output_count = 2;
  turn.page.outputs[0] = fake_tensor("out0", channel::Dtype::float32, {8});
  turn.page.outputs[1] = fake_tensor("out1", channel::Dtype::int32, {1});
  turn.page.state_count = 1;
  turn.page.states[0] = fake_tensor("w", channel::Dtype::float32, {4});
}

inline void fake_call(FakeTurn& turn, float w) {
  const float* x = fake_data<float>(turn, turn.page.inputs[0]);
  float* y = fake_data<float>(turn, turn.page.outputs[0]);
  std::int32_t* k = fake_data<std::int32_t>(turn, turn.page.outputs[1]);
  *k = 0;
  for (int i = 0; i < 8; ++i) {
    y[i] = std::max(x[i], 0.0f) * w + static_cast<float>(turn.page.inputs[1].integer);
    *k += x[i] > 0 ? 1 : 0;
  }
}

// Makes the calls of a burst. `then` runs after each call, with the window at the call's slot; its argument is the
// number of calls before.
inline void fake_burst(FakeTurn& turn, float w, const std::function<void(std::uint32_t)>& then = {}) {
  channel::Page& page = turn.page;
  char* const window = turn.window;
  for (std::uint32_t returned = 0;; ++returned) {
    std::atomic_ref(page.returned).store(returned, std::memory_order_release);
    std::uint32_t turn_word = 0;
    while ((turn_word = std::atomic_ref(page.turn).load(std::memory_order_acquire)) >> 16 != returned + 1)
      std::this_thread::yield();
    if ((turn_word & channel::kNoSlot) == channel::kNoSlot) break;
    turn.window = window + (turn_word & channel::kNoSlot) * page.slot_bytes;
    fake_call(turn, w);
    if (then) then(returned);
  }
  turn.window = window;
}

inline void fake_draw(FakeTurn& turn, std::uint64_t seed, std::optional<std::int64_t> n) {
  std::mt19937_64 random(seed);
  float* x = fake_data<float>(turn, turn.page.inputs[0]);
  for (int i = 0; i < 8; ++i) x[i] = static_cast<float>(random() % 1000) / 100 - 5;
  turn.page.inputs[1].integer = n.value_or(static_cast<std::int64_t>(random() % 100));
}

// Returns the seeds of a Command::answer.
inline std::span<const channel::Seeds> fake_answer_seeds(const FakeTurn& turn) {
  return std::span(turn.page.answers).first(turn.page.answer_count);
}

// Computes the slots of a Command::answer. All slots of one command have the same integer.
inline void fake_answer(FakeTurn& turn, float w, std::optional<std::int64_t> n) {
  char* const window = turn.window;
  for (const channel::Seeds& seeds : fake_answer_seeds(turn)) {
    fake_draw(turn, seeds.inputs, n);
    n = turn.page.inputs[1].integer;
    fake_call(turn, w);
    turn.window += turn.page.slot_bytes;
  }
  turn.window = window;
}

// Computes the outputs in float64, from the inputs in the window of the command.
inline void fake_truth(FakeTurn& turn, double w) {
  const float* x = fake_data<float>(turn, turn.page.inputs[0]);
  double* y = fake_data<double>(turn, turn.page.outputs[0]);
  for (int i = 0; i < 8; ++i) y[i] = std::max<double>(x[i], 0) * w + static_cast<double>(turn.page.inputs[1].integer);
}

// `n` is the integer that the reference draws each time. Without it the integers differ.
inline FakeChild::Script fake_reference(Twist twist = {}, std::optional<std::int64_t> n = std::nullopt) {
  return [n, twist = std::move(twist), model_seed = std::uint64_t{0}](FakeTurn& turn) mutable {
    using channel::Command;
    if (turn.command == Command::load) {
      model_seed = turn.seed;
      fake_describe(turn);
    }
    if (turn.command == Command::put_state)
      *fake_data<float>(turn, turn.page.states[0]) = static_cast<float>(model_seed % 7 + 1);
    const float w = static_cast<float>(model_seed % 7 + 1);
    if (turn.command == Command::make_inputs) fake_draw(turn, turn.seed, n);
    if (turn.command == Command::call) fake_call(turn, w);
    if (turn.command == Command::answer) fake_answer(turn, w, n);
    if (turn.command == Command::truth) fake_truth(turn, w);
    if (twist) twist(turn);
  };
}

inline FakeChild::Script fake_submission(Twist twist = {}) {
  return [twist = std::move(twist), w = 0.0f](FakeTurn& turn) mutable {
    using channel::Command;
    if (turn.command == Command::load) w = *fake_data<float>(turn, turn.page.states[0]);
    if (turn.command == Command::call) fake_call(turn, w);
    if (turn.command == Command::burst) fake_burst(turn, w);
    if (twist) twist(turn);
  };
}

// Returns a twist that runs `change` after the honest work of `command`.
inline Twist at(channel::Command command, Twist change) {
  return [=](FakeTurn& turn) {
    if (turn.command == command) change(turn);
  };
}

// A judge with the CPU as its device, its children, and short limits.
struct JudgeFixture {
  JudgeFixture() {
    plan.id = 1;
    plan.trials = {.correctness = 2, .warmup = 1, .timed = 3};
    plan.limits.load_limit_ms = 60'000;  // reached by hanging children only
    plan.limits.call_limit_ms = 60'000;
    plan.limits.first_launch_limit_ms = 0;
    plan.limits.timed_budget_ms = 600'000;  // however slow the host is, no call is left out
    plan.limits.window_bytes_max = 1 << 20;
  }

  // Runs one attempt with fresh children.
  Report run(Twist submission_twist = {}, Twist reference_twist = {}) {
    reference = std::make_unique<FakeChild>(fake_reference(std::move(reference_twist), drawn_integer));
    plan.fresh_reference = true;
    exits.forget(ChildRole::reference);
    return run_with(std::move(submission_twist), reference->take_socket());
  }
  // Runs one attempt with the reference of the attempt before.
  Report run_again(Twist submission_twist = {}) {
    plan.fresh_reference = false;
    return run_with(std::move(submission_twist), sys::Fd());
  }

  Report run_with(Twist submission_twist, sys::Fd reference_socket) {
    exits.forget(ChildRole::submission);
    FakeChild submission(fake_submission(std::move(submission_twist)));
    Channels channels{
        .calibrator = {}, .reference = std::move(reference_socket), .submission = submission.take_socket()};
    plan.fresh_calibrator = !calibrator;
    if (!calibrator) {
      calibrator = std::make_unique<FakeChild>(calibrator_script);
      channels.calibrator = calibrator->take_socket();
    }
    Report report = judge->run(plan, std::move(channels));
    if (!report.verdict) calibrator.reset();  // a lane replaces it, too
    return report;
  }

  // Takes another device or way of waiting. Must be called before the first run.
  void use(std::unique_ptr<Device> other, WaitMode wait_mode = WaitMode::sleep) {
    device = std::move(other);
    judge = std::make_unique<Judge>(*device, exits, wait_mode, [this] { return random(); });
  }
  // Takes another way of sampling. Must be called before the first run.
  void use(Sampling sampling, WaitMode wait_mode = WaitMode::sleep) {
    judge = std::make_unique<Judge>(
        *device, exits, wait_mode, [this] { return random(); }, sampling);
  }

  std::unique_ptr<Device> device = std::move(*open_cpu_device());
  FakeExits exits;
  std::mt19937_64 random{1};
  FakeChild::Script calibrator_script = [](FakeTurn&) {};
  std::unique_ptr<FakeChild> calibrator;
  std::unique_ptr<FakeChild> reference;
  std::optional<std::int64_t> drawn_integer;  // the `n` of fake_reference()
  std::unique_ptr<Judge> judge = std::make_unique<Judge>(*device, exits, WaitMode::sleep, [this] { return random(); });
  Plan plan;
};

// Returns the verdict, its reason and stage, such as "wrong_answer/value at judge", or "error: " and the message.
inline std::string outcome_text(const Report& report) {
  if (!report.verdict) return "error: " + report.error;
  std::string text(to_string(name_of(*report.verdict)));
  if (const Evidence* found = evidence_of(*report.verdict)) {
    text += (found->reason.empty() ? "" : "/" + found->reason) + " at " + std::string(to_string(found->stage));
  }
  return text;
}

inline const Evidence& evidence_in(const Report& report) {
  return *evidence_of(*report.verdict);
}

}  // namespace kq::judge
