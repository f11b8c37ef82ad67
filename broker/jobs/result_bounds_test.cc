#include "broker/jobs/result_bounds.h"

#include <gtest/gtest.h>

#include <limits>

#include "core/codec/codec.h"
#include "core/testing/examples.h"

namespace kq::broker {
namespace {

TEST(FrontOf, ends_with_a_whole_character) {
  EXPECT_EQ(front_of("abc", 3), "abc");
  EXPECT_EQ(front_of("abc", 2), "ab");
  EXPECT_EQ(front_of("a\xC3\xA9", 2), "a");
  EXPECT_EQ(front_of("a\xF0\x9F\x98\x80z", 4), "a");
  EXPECT_EQ(front_of("a\xF0\x9F\x98\x80z", 5), "a\xF0\x9F\x98\x80");
  EXPECT_EQ(front_of("\x80\x80\x80\x80\x80\x80", 5).size(), 2u) << "not UTF-8";
}

TEST(ResultBounds, a_correct_result_is_unchanged) {
  Result result = examples::result();
  const Result before = result;
  EXPECT_EQ(validation_error(result), std::nullopt);
  EXPECT_FALSE(cut_to_limits(result));
  EXPECT_EQ(result, before);
}

TEST(ResultBounds, texts_and_lists_are_cut_in_all_fields) {
  const std::string endless(1u << 20, 'x');
  Result result;
  result.verdict =
      Suspect{{.method = endless, .submission = {}, .reference = {}},
              {},
              {.reason = endless, .message = endless, .hint = {}, .rule = {}, .place = endless, .mismatch = {}}};
  result.log = endless;
  result.sandbox = endless;
  result.host.cpu = endless;
  result.toolchain.flags = endless;
  result.conditions.emplace().throttle = endless;
  result.conditions->foreign.emplace(1'000);
  result.profile.emplace().kernels.assign(
      20, {.kernel = endless, .metrics = std::vector<ProfileMetric>(1'000, {std::string(300, 'x'), 1})});
  result.kernels_ran.emplace().kernels.resize(1'000);
  result.findings.resize(1'000);
  result.problem_warnings.resize(1'000);
  EXPECT_TRUE(cut_to_limits(result));
  EXPECT_EQ(result.kernels_ran->kernels.size(), kRanKernelsMax);
  EXPECT_EQ(result.findings.size(), kReviewFindingsMax);
  EXPECT_EQ(result.problem_warnings.size(), kProblemWarningsMax);
  EXPECT_EQ(measurement_of(result.verdict)->method.size(), kMessageTextMax);
  EXPECT_EQ(evidence_of(result.verdict)->message.size(), kMessageTextMax);
  EXPECT_EQ(evidence_of(result.verdict)->place.size(), kMessageTextMax);
  EXPECT_LT(result.log.size(), kLogBytesMax + 2'000);
  EXPECT_EQ(result.sandbox.size(), kMessageTextMax);
  EXPECT_EQ(result.host.cpu.size(), kMessageTextMax);
  EXPECT_EQ(result.conditions->throttle.size(), kMessageTextMax);
  EXPECT_EQ(result.conditions->foreign->size(), kForeignProcessesMax);
  ASSERT_EQ(result.profile->kernels.size(), kProfiledKernelsMax);
  EXPECT_EQ(result.profile->kernels[9].metrics.size(), kProfileMetricsMax);
  EXPECT_EQ(result.profile->kernels[9].metrics[0].name.size(), kNameBytesMax);
  EXPECT_FALSE(cut_to_limits(result)) << "the second time nothing is cut";
}

TEST(ResultBounds, an_invalid_result_is_refused) {
  Result odd;
  odd.device.model = "H\n200";
  EXPECT_EQ(validation_error(odd), "its device's model holds a control character at byte 1");
  Result many;
  many.samples.reference_ns.resize(4'001);
  EXPECT_EQ(validation_error(many), "4001 samples, at most 4000 are allowed");
  for (const double ns : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Measurement measurement;
    measurement.submission.median_ns = ns;
    Result timeless;
    timeless.verdict = Passed{measurement, {}};
    EXPECT_EQ(validation_error(timeless), "a median that is no time");
    Result of_workloads;
    of_workloads.cases.push_back({.workload = "large", .weight = 1, .verdict = Passed{measurement, {}}, .samples = {}});
    EXPECT_EQ(validation_error(of_workloads), "a median that is no time");
  }
}

// The broker could store a larger result, but no client could decode the reply that contains it.
TEST(ResultBounds, a_result_that_does_not_fit_into_a_message_is_refused) {
  Result largest;
  largest.cases.resize(kWorkloadsMax);
  for (CaseResult& one : largest.cases) one.samples = {std::vector<std::int64_t>(kTrialsMax, 1), {1, 2}};
  EXPECT_EQ(validation_error(largest), std::nullopt);
  EXPECT_TRUE(decode<Result>(encode(largest)));
  Result many = largest;
  many.cases.resize(kWorkloadsMax + 1);
  EXPECT_EQ(validation_error(many), "129 workloads, at most 128 are allowed");
  Result sampled = largest;
  sampled.cases[5].samples.reference_ns.resize(kSamplesMax + 1);
  EXPECT_EQ(validation_error(sampled), "4001 samples, at most 4000 are allowed");
  for (CaseResult& one : largest.cases) one.samples.reference_ns.resize(kSamplesMax);
  EXPECT_NE(validation_error(largest).value_or("").find(" items, at most 524288 are allowed"), std::string::npos);
  Result listed;
  listed.extensions.emplace().failed.resize(300'000);
  EXPECT_NE(validation_error(listed).value_or("").find(" items, at most 524288 are allowed"), std::string::npos);
}

}  // namespace
}  // namespace kq::broker
