#include "producer/overview/overview.h"

#include <gtest/gtest.h>

#include "producer/overview/testing.h"

namespace kq::producer {
namespace {

class OverviewTest : public testing::Test {
 protected:
  OverviewTest() {
    for (const char* label : {"a", "b", "c"}) source_.add("r", label);
    source_.finish("r", "c", VerdictName::wrong_answer, "off by one");
  }
  FakeSource source_;
  Overview overview_;
};

TEST_F(OverviewTest, runs_have_their_counts_and_failures_their_reasons) {
  source_.lease("r", "a");
  ASSERT_TRUE(overview_.refresh(source_));
  ASSERT_EQ(overview_.runs().size(), 1u);
  const ShownRun run = overview_.runs()[0];
  EXPECT_EQ(run.submitter, "ada");
  EXPECT_TRUE(run.is_counted);
  EXPECT_EQ(run.counts.jobs, 3u);
  EXPECT_EQ(run.counts.queued, 1u);
  EXPECT_EQ(run.counts.running, 1u);
  EXPECT_EQ(run.failed_count(), 1u);
  EXPECT_EQ(run.passed_count(), 0u);
  EXPECT_EQ(run.left_s(), std::nullopt);
  ASSERT_EQ(overview_.failures().size(), 1u);
  EXPECT_EQ(overview_.failures()[0].label, "c");
  EXPECT_EQ(overview_.failures()[0].message, "off by one");
  EXPECT_EQ(overview_.running().count("w"), 1u);
  EXPECT_EQ(overview_.broker().leased, 1u);
}

TEST_F(OverviewTest, a_job_that_fails_later_is_listed_first) {
  ASSERT_TRUE(overview_.refresh(source_));
  source_.finish("r", "a", VerdictName::crashed);
  source_.rows.at({"r", "a"}).job.finished_at_ms += 500;
  ASSERT_TRUE(overview_.refresh(source_));
  ASSERT_EQ(overview_.failures().size(), 2u);
  EXPECT_EQ(overview_.failures()[0].verdict, VerdictName::crashed);
}

TEST_F(OverviewTest, runs_that_go_on_come_first) {
  source_.add("old", "x");
  source_.finish("old", "x", VerdictName::passed);
  ASSERT_TRUE(overview_.refresh(source_));
  EXPECT_TRUE(overview_.is_counted());
  ASSERT_EQ(overview_.runs().size(), 2u);
  EXPECT_EQ(overview_.runs()[0].run, "r");
  EXPECT_EQ(overview_.run_count(), 2u);
}

TEST_F(OverviewTest, a_gpu_shows_what_its_last_job_saw) {
  Result& result = *source_.rows.at({"r", "c"}).result;
  result.device.uuid = "GPU-1";
  result.conditions = Conditions{.sm_clock_mhz = 1'980};
  ASSERT_TRUE(overview_.refresh(source_));
  ASSERT_NE(overview_.conditions_of({.model = "", .uuid = "GPU-1", .arch = ""}), nullptr);
  EXPECT_EQ(overview_.conditions_of({.model = "", .uuid = "GPU-1", .arch = ""})->sm_clock_mhz, 1'980u);
  EXPECT_EQ(overview_.conditions_of({.model = "", .uuid = "GPU-2", .arch = ""}), nullptr);
}

TEST_F(OverviewTest, an_unreachable_broker_is_an_error) {
  source_.failure_of_all = Error{ErrorKind::our_fault, "the broker does not answer"};
  EXPECT_EQ(overview_.refresh(source_).error().message, "the broker does not answer");
}

TEST_F(OverviewTest, jobs_are_found_by_text_and_outcome_in_pages) {
  ASSERT_TRUE(overview_.refresh(source_));
  const auto page = overview_.find(source_, "r", {.limit = 2}).value();
  EXPECT_EQ(page.jobs.size(), 2u);
  EXPECT_EQ(page.total_count, 3u);
  EXPECT_EQ(page.next, "b");
  const auto rest = overview_.find(source_, "r", {.after = "b", .limit = 2}).value();
  ASSERT_EQ(rest.jobs.size(), 1u);
  EXPECT_EQ(rest.next, "");
  EXPECT_EQ(overview_.find(source_, "r", {.outcome = "failed"}).value().jobs.at(0).job.label, "c");
  EXPECT_EQ(overview_.find(source_, "", {.text = "B"}).value().total_count, 1u);
  EXPECT_EQ(overview_.find(source_, "none", {}).error().kind, ErrorKind::not_found);
}

TEST_F(OverviewTest, a_search_finds_rows_that_came_after_an_earlier_one) {
  for (const char* label : {"a", "b"}) source_.finish("r", label, VerdictName::passed);
  EXPECT_EQ(overview_.find(source_, "r", {}).value().total_count, 3u);
  source_.add("r", "d");
  source_.finish("r", "c", VerdictName::passed);
  const auto found = overview_.find(source_, "r", {}).value();
  EXPECT_EQ(found.total_count, 4u);
  EXPECT_TRUE(found.is_whole);
  EXPECT_EQ(overview_.find(source_, "r", {.outcome = "failed"}).value().total_count, 0u);
  source_.finish("r", "d", VerdictName::passed);
  EXPECT_EQ(overview_.find(source_, "", {.text = "d"}).value().jobs.at(0).job.state, JobState::finished);
}

}  // namespace
}  // namespace kq::producer
