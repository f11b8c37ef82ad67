#include "producer/gateway/live/running_jobs.h"

#include <gtest/gtest.h>

#include "producer/gateway/rest/rest.h"
#include "producer/gateway/testing.h"

namespace kq::gateway {
namespace {

TEST(RunningJobs, leased_jobs_are_found_by_the_worker) {
  FakeService service;
  Request request = test_request("POST", "/api/v1/jobs", test_line("a") + test_line("b") + test_line("c"));
  request.query.emplace("run", "r");
  post_jobs(request, service);
  RunningJobs running;
  ASSERT_TRUE(running.refresh(service, {}, 0));
  EXPECT_TRUE(running.by_worker().empty());
  service.rows.at({"r", "b"}).job.state = JobState::leased;
  ASSERT_TRUE(running.refresh(service, {}, 1));
  ASSERT_EQ(running.by_worker().count("w"), 1u);
  EXPECT_EQ(running.by_worker().begin()->second.label, "b");
  // A job with a lower number is found too, although the readings begin behind it.
  service.rows.at({"r", "a"}).job.state = JobState::leased;
  ASSERT_TRUE(running.refresh(service, {}, 2));
  ASSERT_TRUE(running.refresh(service, {}, 2));
  EXPECT_EQ(running.by_worker().count("w"), 2u);
  service.rows.at({"r", "a"}).job.state = JobState::finished;
  service.rows.at({"r", "b"}).job.state = JobState::finished;
  ASSERT_TRUE(running.refresh(service, {}, 0));
  EXPECT_TRUE(running.by_worker().empty());
}

}  // namespace
}  // namespace kq::gateway
