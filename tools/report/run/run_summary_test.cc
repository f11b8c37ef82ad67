#include "tools/report/run/run_summary.h"

#include <gmock/gmock.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

TEST(RunSummary, counts_how_far_jobs_came) {
  SummaryBuilder builder("r1");
  builder.add(passed_row("relu/a", 1'000, 2'000));
  builder.add(passed_row("relu/b", 2'000, 1'000));
  builder.add(ended_row("relu/c", VerdictName::wrong_answer, evidence_at(Stage::judge)));
  builder.add(ended_row("relu/d", VerdictName::build_failed, evidence_at(Stage::build)));
  builder.add(queued_row("relu/e"));
  const RunSummary summary = builder.finish();
  EXPECT_EQ(summary.funnel.submitted, 5u);
  EXPECT_EQ(summary.funnel.built, 3u);
  EXPECT_EQ(summary.funnel.correct, 2u);
  EXPECT_EQ(summary.funnel.faster, 1u);
  EXPECT_EQ(summary.unfinished_count, 1u);
  EXPECT_THAT(summary.count_by_outcome, Contains(Pair("queued", 1u)));
  EXPECT_THAT(summary.places, ElementsAre(Pair("device", ElementsAre("Test CPU"))));
}

TEST(RunSummary, warns_of_what_a_reader_must_know) {
  SummaryBuilder builder("r1");
  RunRow noisy = passed_row("relu/a", 1'000, 2'000);
  auto& passed = std::get<Passed>(noisy.result->verdict);
  passed.measurement.submission.std_ns = 500;
  noisy.result->conditions = Conditions{.throttle = "hw_slowdown", .foreign = std::vector<GpuProcess>{{7, 100}}};
  noisy.result->problem_warnings = {{"zeros", "zeros pass."}};
  builder.add(noisy);
  RunRow other = passed_row("relu/b", 1'000, 2'000);
  other.result->device.model = "Other CPU";
  builder.add(other);
  builder.add(queued_row("relu/c"));
  EXPECT_THAT(builder.finish().warnings,
              ElementsAre(HasSubstr("1 job is not finished"), HasSubstr("measured on a CPU"),
                          HasSubstr("1 of 2 times spread by more than 20 %"),
                          HasSubstr("reduced its clocks after 1 job"), HasSubstr("Other processes used the GPU"),
                          HasSubstr("several device models"), "Problem relu: zeros pass."));
}

TEST(RunSummary, an_empty_run_has_nothing_to_say) {
  const RunSummary summary = SummaryBuilder("r1").finish();
  EXPECT_THAT(summary.warnings, IsEmpty());
  EXPECT_EQ(summary.funnel.submitted, 0u);
}

}  // namespace
}  // namespace kq::tools
