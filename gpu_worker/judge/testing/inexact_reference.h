// For tests: a reference child whose outputs have errors of their own, and children whose outputs have.
#pragma once

#include <atomic>

#include "gpu_worker/judge/testing/fake_problem.h"

namespace kq::judge {

// Multiplies the elements of the first output by 1 + error and 1 - error in turn.
inline void spoil(FakeTurn& turn, float error) {
  float* const y = fake_data<float>(turn, turn.page.outputs[0]);
  for (int i = 0; i < 8; ++i) y[i] *= 1 + (i % 2 == 0 ? error : -error);
}

inline Twist call_with(float error) {
  return at(channel::Command::call, [error](FakeTurn& turn) { spoil(turn, error); });
}

// A reference with errors of its own. It counts the truths that it is asked for, and can compute only some kinds.
struct InexactReference {
  float error = 0;
  std::uint32_t first_kind = 0;
  double rounding = 0;
  std::atomic<int> asked = 0;
  std::atomic<int> computed = 0;

  Twist twist() {
    return [this](FakeTurn& turn) {
      if (turn.command == channel::Command::call) spoil(turn, error);
      if (turn.command == channel::Command::answer) {
        char* const window = turn.window;
        for (std::uint64_t slot = 0; slot < turn.page.answer_count; ++slot, turn.window += turn.page.slot_bytes)
          spoil(turn, error);
        turn.window = window;
      }
      if (turn.command == channel::Command::truth) answer(turn);
    };
  }
  void answer(FakeTurn& turn) {
    ++asked;
    if (static_cast<std::uint32_t>(turn.page.truth.kind) < first_kind)
      return turn.fail(channel::Failure::problem_invalid, "NotImplementedError: not for Double");
    ++computed;
    double* const y = fake_data<double>(turn, turn.page.outputs[0]);
    if (turn.page.truth.rounding != channel::Rounding::none) y[0] += rounding * y[0], y[1] -= rounding * y[1];
  }
};

}  // namespace kq::judge
