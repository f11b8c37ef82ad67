// How a problem's own check decides.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "gpu_worker/judge/attempt.h"
#include "gpu_worker/judge/testing/fake_device.h"
#include "gpu_worker/judge/testing/fake_problem.h"

namespace kq::judge {
namespace {

using channel::Command;

// A reference whose check() is satisfied where the largest values of the first output are equal.
Twist with_check(int& asked) {
  return [&asked](FakeTurn& turn) {
    channel::Page& page = turn.page;
    if (turn.command == Command::load) page.has_check = 1;
    if (turn.command != Command::check) return;
    ++asked;
    EXPECT_EQ(page.output_count, 4u);
    const auto largest = [&](const channel::TensorDesc& row) {
      const float* const y = fake_data<float>(turn, row);
      return *std::max_element(y, y + 8);
    };
    if (largest(page.outputs[0]) == largest(page.outputs[2])) return;
    const char text[] = "the largest is another one";
    std::memcpy(page.text, text, sizeof text);
    page.text_bytes = sizeof text - 1;
  };
}

TEST(ReferenceCheck, its_sentence_decides_in_place_of_a_tolerance) {
  JudgeFixture fixture;
  int asked = 0;
  const Report swapped = fixture.run(at(Command::call,
                                        [](FakeTurn& turn) {
                                          float* const y = fake_data<float>(turn, turn.page.outputs[0]);
                                          std::swap(y[0], y[7]);
                                        }),
                                     with_check(asked));
  EXPECT_EQ(outcome_text(swapped), "passed") << evidence_in(swapped).message;
  EXPECT_GE(asked, 6);
  const Report wrong =
      fixture.run(at(Command::call, [](FakeTurn& turn) { fake_data<float>(turn, turn.page.outputs[0])[0] += 1e4f; }),
                  with_check(asked));
  EXPECT_EQ(outcome_text(wrong), "wrong_answer/check at judge");
  EXPECT_EQ(evidence_in(wrong).message, "check() of the problem says in trial 0: the largest is another one");
  EXPECT_TRUE(wrong.reference_usable);
}

// Work of the reference's process must not count as work before the next call.
TEST(ReferenceCheck, the_device_is_the_judges_again_after_each) {
  JudgeFixture fixture;
  auto owned = std::make_unique<FakeDevice>();
  const FakeDevice& device = *owned;
  fixture.use(std::move(owned));
  int asked = 0;
  EXPECT_EQ(outcome_text(fixture.run({}, with_check(asked))), "passed");
  EXPECT_GE(asked, 3);
  EXPECT_EQ(device.runs_without_call, asked);
}

TEST(ReferenceCheck, one_that_fails_is_the_problems_fault) {
  JudgeFixture fixture;
  const Report report = fixture.run({}, [](FakeTurn& turn) {
    if (turn.command == Command::load) turn.page.has_check = 1;
    if (turn.command == Command::check)
      turn.fail(channel::Failure::problem_invalid, "ZeroDivisionError: division by zero");
  });
  EXPECT_EQ(outcome_text(report), "problem_invalid at run");
}

}  // namespace
}  // namespace kq::judge
