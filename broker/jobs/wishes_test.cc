#include "broker/jobs/wishes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"

namespace kq::broker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

JobRecord job_of(const std::string& submitter) {
  JobRecord job;
  job.submitter = submitter;
  return job;
}

TEST(Wishes, a_job_moves_to_another_submitter_and_keeps_the_first_one) {
  JobRecord job = job_of("ada");
  add_submitter(job, "bob");
  add_submitter(job, "bob");
  add_submitter(job, "ada");
  EXPECT_THAT(submitters_of(job), ElementsAre("ada", "bob"));
  charge_to(job, "bob");
  EXPECT_THAT(submitters_of(job), ElementsAre("bob", "ada"));
  EXPECT_EQ(first_submitter_of(job), "ada");
  charge_to(job, "ada");
  EXPECT_EQ(first_submitter_of(job), "ada");
  EXPECT_THAT(job.first_submitter, IsEmpty());
}

TEST(Wishes, who_cancels_leaves_the_job_to_the_others) {
  JobRecord job = job_of("ada");
  add_submitter(job, "bob");
  add_submitter(job, "zoe");
  remove_submitters(job, {"ada", "bob"});
  EXPECT_THAT(submitters_of(job), ElementsAre("zoe"));
  EXPECT_EQ(first_submitter_of(job), "ada");
}

TEST(Wishes, the_list_of_submitters_is_bounded) {
  JobRecord job = job_of("ada");
  for (std::size_t i = 0; i < 2 * kJobSubmittersMax; ++i) add_submitter(job, "s" + std::to_string(i));
  EXPECT_EQ(job.also_for.size(), kJobSubmittersMax);
  EXPECT_TRUE(is_for_too_many(job));
  EXPECT_FALSE(is_for(job, "s" + std::to_string(kJobSubmittersMax)));
}

TEST(Wishes, a_record_only_widens) {
  JobRecord job = job_of("ada");
  job.needs.labels = {"a", "b", "c"};
  job.not_before_ms = 5'000;
  job.deadline_ms = 9'000;
  Submission again;
  again.labels = {"b", "d"};
  again.priority = Priority::high;
  again.not_before_ms = 4'000;
  const JobRecord wider = widened(job, again, 1'000);
  EXPECT_THAT(wider.needs.labels, ElementsAre("b"));
  EXPECT_EQ(wider.priority, Priority::high);
  EXPECT_EQ(wider.not_before_ms, 4'000);
  EXPECT_EQ(wider.deadline_ms, 0);
  again = {};
  again.labels = {"b", "x"};
  again.not_before_ms = 8'000;
  again.deadline_ms = 8'500;
  again.priority = Priority::low;
  const JobRecord same = widened(wider, again, 1'000);
  EXPECT_EQ(same, wider);
}

}  // namespace
}  // namespace kq::broker
