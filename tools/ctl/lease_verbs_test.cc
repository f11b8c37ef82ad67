#include "tools/ctl/lease_verbs.h"

#include <gtest/gtest.h>

#include "tools/ctl/scripted_world.h"

namespace kq::tools {
namespace {

class LeaseVerbs : public testing::Test {
 protected:
  void SetUp() override {
    kq.on<Pause>([](const auto&) { return Done{}; });
    kq.on<Drain>([](const auto&) { return Done{}; });
    kq.on<JobsQuery>([this](const JobsQuery& query) { return page_of(jobs, query, 2); });
    kq.on<BrokerQuery>([this](const auto&) {
      if (busy_count > 0) --busy_count;
      BrokerReply reply;
      reply.workers = {{.worker = "n1:7", .devices = {}, .running = busy_count}};
      return reply;
    });
  }
  ScriptedWorld kq;
  std::uint32_t busy_count = 4;
  std::vector<JobRow> jobs;
};

TEST_F(LeaseVerbs, pauses_all_submitters_or_one) {
  EXPECT_EQ(kq.run({"pause", "--submitter", ""}), 2) << "an empty name must not pause all submitters";
  EXPECT_EQ(kq.run({"pause"}), 0);
  EXPECT_EQ(kq.out.str(), "the queue is paused: no more jobs are leased, running jobs continue\n");
  EXPECT_EQ(kq.run({"resume", "--submitter", "ann", "--json"}), 0);
  EXPECT_EQ(kq.out.str(), "{\"submitter\": \"ann\", \"paused\": false}\n");
  const auto requests_of = kq.requests_of<Pause>();
  ASSERT_EQ(requests_of.size(), 2u);
  EXPECT_EQ(requests_of[0].submitter, "");
  EXPECT_TRUE(requests_of[0].paused);
  EXPECT_EQ(requests_of[1].submitter, "ann");
  EXPECT_FALSE(requests_of[1].paused);
}

TEST_F(LeaseVerbs, a_submitter_is_paused_and_resumed_with_the_sweeps_that_it_has_in_the_queue) {
  jobs = {job_row(1, JobState::queued, "ann@lab"), job_row(2, JobState::queued, "ann@lab/monday"),
          job_row(3, JobState::queued, "ann@lab/monday"), job_row(4, JobState::queued, "bob@lab/monday")};
  EXPECT_EQ(kq.run({"pause", "--submitter", "ann@lab"}), 0);
  EXPECT_EQ(kq.out.str(), "submitter ann@lab with 1 sweep is paused: no more jobs are leased, running jobs continue\n");
  EXPECT_EQ(kq.run({"resume", "--submitter", "ann@lab", "--json"}), 0);
  EXPECT_EQ(kq.out.str(), "{\"submitter\": \"ann@lab\", \"paused\": false, \"sweeps\": [\"ann@lab/monday\"]}\n");
  const auto requests = kq.requests_of<Pause>();
  ASSERT_EQ(requests.size(), 4u);
  EXPECT_EQ(requests[1].submitter, "ann@lab/monday");
  EXPECT_TRUE(requests[1].paused);
  EXPECT_EQ(requests[3].submitter, "ann@lab/monday");
  EXPECT_FALSE(requests[3].paused);
}

TEST_F(LeaseVerbs, drains_and_waits_until_the_worker_is_idle) {
  EXPECT_EQ(kq.run({"drain", "n1:7", "--wait"}), 0);
  EXPECT_EQ(kq.out.str(), "worker n1:7 gets no new jobs and has none left\n");
  EXPECT_TRUE(kq.requests_of<Drain>().at(0).draining);
  EXPECT_EQ(kq.requests_of<BrokerQuery>().size(), 4u);
}

TEST_F(LeaseVerbs, a_timeout_ends_the_wait_and_tells_how_many_jobs_are_left) {
  busy_count = 100;
  EXPECT_EQ(kq.run({"drain", "n1:7", "--wait", "--timeout", "2"}), 4);
  EXPECT_EQ(kq.err.str(), "kq-ctl drain: worker n1:7 still has 94 jobs and keeps draining\n");
}

TEST_F(LeaseVerbs, a_drain_can_be_undone_after_the_worker_left) {
  EXPECT_EQ(kq.run({"drain", "n9:9"}), 5);
  EXPECT_EQ(kq.err.str(), "kq-ctl drain: no worker 'n9:9' is connected; kq-ctl workers lists them\n");
  EXPECT_TRUE(kq.requests_of<Drain>().empty());
  EXPECT_EQ(kq.run({"drain", "n9:9", "--undo"}), 0);
  EXPECT_FALSE(kq.requests_of<Drain>().at(0).draining);
  EXPECT_EQ(kq.run({"drain", "n1:7", "--undo", "--wait"}), 2);
}

}  // namespace
}  // namespace kq::tools
