#include "gpu_worker/judge/device/records.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace kq::judge {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(ErrorRecord, no_records_or_records_of_no_element_say_nothing) {
  EXPECT_EQ(merged(std::span<const ErrorRecord>()).wrong, 0u);
  const ErrorRecord sum = merged(std::vector<ErrorRecord>(3));
  EXPECT_EQ(sum.wrong, 0u);
  EXPECT_EQ(sum.worst_excess, -1);
  EXPECT_EQ(sum.max_abs_err, 0);
}

TEST(ErrorRecord, first_and_last_are_those_of_all_threads_with_wrong_elements) {
  const std::vector<ErrorRecord> records{
      {.max_abs_err = 0.5, .max_rel_err = 7},
      {.wrong = 2, .first = 21, .last = 91, .worst = 21, .worst_excess = 3, .max_abs_err = 2},
      {},
      {.wrong = 3, .not_finite = 1, .first = 13, .last = 83, .worst = 33, .worst_excess = 2, .max_abs_err = 9}};
  const ErrorRecord sum = merged(records);
  EXPECT_EQ(sum.wrong, 5u);
  EXPECT_EQ(sum.not_finite, 1u);
  EXPECT_EQ(sum.first, 13u);
  EXPECT_EQ(sum.last, 91u);
  EXPECT_EQ(sum.worst, 21u);
  EXPECT_EQ(sum.worst_excess, 3);
  EXPECT_EQ(sum.max_abs_err, 9);
  EXPECT_EQ(sum.max_rel_err, 7);
}

TEST(ErrorRecord, of_equal_excesses_the_first_element_is_the_worst) {
  for (const double excess : {1.5, kInfinity}) {
    const auto one = [&](std::uint64_t element) {
      return ErrorRecord{.wrong = 1, .first = element, .last = element, .worst = element, .worst_excess = excess};
    };
    EXPECT_EQ(merged(std::vector{one(7), one(5), one(6)}).worst, 5u);
    EXPECT_EQ(merged(std::vector{one(0), one(5)}).worst, 0u);
  }
}

TEST(TruthRecord, counts_and_squares_add_up_and_the_largest_errors_stay) {
  const std::vector<TruthRecord> records{{.count = 2,
                                          .truth_squares = 5,
                                          .submission_squares = 0.5,
                                          .submission_largest = 3,
                                          .reference_squares = 0.25,
                                          .reference_largest = 1,
                                          .beyond = 1},
                                         {.count = 1,
                                          .truth_squares = 4,
                                          .submission_squares = 0.25,
                                          .submission_largest = 2,
                                          .reference_squares = 1,
                                          .reference_largest = 8,
                                          .wrong_form = 1,
                                          .special_truth = 6}};
  const TruthRecord sum = merged(records);
  EXPECT_EQ(sum.count, 3u);
  EXPECT_EQ(sum.truth_squares, 9);
  EXPECT_EQ(sum.submission_squares, 0.75);
  EXPECT_EQ(sum.submission_largest, 3);
  EXPECT_EQ(sum.reference_squares, 1.25);
  EXPECT_EQ(sum.reference_largest, 8);
  EXPECT_EQ(sum.beyond, 1u);
  EXPECT_EQ(sum.wrong_form, 1u);
  EXPECT_EQ(sum.special_truth, 6u);
}

}  // namespace
}  // namespace kq::judge
