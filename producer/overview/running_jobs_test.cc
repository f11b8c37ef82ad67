#include "producer/overview/running_jobs.h"

#include <gtest/gtest.h>

#include "producer/overview/testing.h"

namespace kq::producer {
namespace {

TEST(RunningJobs, leased_jobs_are_found_by_the_worker) {
  FakeSource source;
  for (const char* label : {"a", "b", "c"}) source.add("r", label);
  RunningJobs running;
  ASSERT_TRUE(running.refresh(source, 0));
  EXPECT_TRUE(running.by_worker().empty());
  source.lease("r", "b");
  ASSERT_TRUE(running.refresh(source, 1));
  ASSERT_EQ(running.by_worker().count("w"), 1u);
  EXPECT_EQ(running.by_worker().begin()->second.label, "b");
  // A job with a lower number is found too, although the readings begin behind it.
  source.lease("r", "a");
  ASSERT_TRUE(running.refresh(source, 2));
  ASSERT_TRUE(running.refresh(source, 2));
  EXPECT_EQ(running.by_worker().count("w"), 2u);
  source.finish("r", "a", VerdictName::passed);
  source.finish("r", "b", VerdictName::passed);
  ASSERT_TRUE(running.refresh(source, 0));
  EXPECT_TRUE(running.by_worker().empty());
}

}  // namespace
}  // namespace kq::producer
