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
    kq.on<RunsQuery>([this](const auto&) { return RunsReply{.runs = runs}; });
    kq.on<StatsQuery>([this](const auto&) { return stats; });
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
  StatsReply stats;
  std::vector<KnownRun> runs;
};

TEST_F(LeaseVerbs, pauses_all_submitters_or_one) {
  EXPECT_EQ(kq.run({"pause", "--submitter", ""}), 2) << "an empty name must not pause all submitters";
  EXPECT_EQ(kq.run({"pause"}), 0);
  EXPECT_EQ(kq.out.str(), "the queue is paused: no more jobs are leased; jobs that workers hold already still run\n");
  EXPECT_EQ(kq.run({"resume", "--submitter", "ann", "--json"}), 0);
  EXPECT_EQ(kq.out.str(), "{\"submitter\": \"ann\", \"paused\": false, \"was_paused\": false}\n");
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
  EXPECT_EQ(
      kq.out.str(),
      "submitter ann@lab with 1 sweep is paused: no more jobs are leased; jobs that workers hold already still run\n");
  stats.metrics = {{"kq_submitters_paused", {}, 1}, {"kq_submitter_paused", {{"submitter", "ann@lab/monday"}}, 1}};
  EXPECT_EQ(kq.run({"resume", "--submitter", "ann@lab", "--json"}), 0);
  EXPECT_EQ(
      kq.out.str(),
      "{\"submitter\": \"ann@lab\", \"paused\": false, \"sweeps\": [\"ann@lab/monday\"], \"was_paused\": true}\n");
  const auto requests = kq.requests_of<Pause>();
  ASSERT_EQ(requests.size(), 4u);
  EXPECT_EQ(requests[1].submitter, "ann@lab/monday");
  EXPECT_TRUE(requests[1].paused);
  EXPECT_EQ(requests[3].submitter, "ann@lab/monday");
  EXPECT_FALSE(requests[3].paused);
}

TEST_F(LeaseVerbs, a_pause_of_a_name_that_never_submitted_says_so) {
  runs = {{.run = "monday", .submitter = "ann@lab/monday"}, {.run = "nightly", .submitter = "bobby"}};
  jobs = {job_row(1, JobState::queued, "carl")};
  const std::string paused = " is paused: no more jobs are leased; jobs that workers hold already still run";
  EXPECT_EQ(kq.run({"pause", "--submitter", "bobyb"}), 0);
  EXPECT_EQ(kq.out.str(),
            "submitter bobyb" + paused + "; no run and no queued job is of this name; did you mean bobby?\n");
  for (const std::string known : {"ann@lab", "bobby", "carl"}) {
    EXPECT_EQ(kq.run({"pause", "--submitter", known.c_str()}), 0);
    EXPECT_EQ(kq.out.str(), "submitter " + known + paused + "\n");
  }
  EXPECT_EQ(kq.run({"pause", "--submitter", "zoe", "--json"}), 0);
  EXPECT_EQ(kq.out.str(), "{\"submitter\": \"zoe\", \"paused\": true, \"known\": false}\n");
}

TEST_F(LeaseVerbs, a_resume_says_what_was_not_paused_and_what_still_is) {
  EXPECT_EQ(kq.run({"resume"}), 0);
  EXPECT_EQ(kq.out.str(), "the queue was not paused\n");
  stats.metrics = {{"kq_submitters_paused", {}, 1}, {"kq_submitter_paused", {{"submitter", "ann"}}, 1}};
  EXPECT_EQ(kq.run({"resume", "--submitter", "anm"}), 0);
  EXPECT_EQ(kq.out.str(), "submitter anm was not paused; 1 submitter is paused: ann\n");
  stats.metrics.push_back({"kq_queue_paused", {}, 1});
  EXPECT_EQ(kq.run({"resume"}), 0);
  EXPECT_EQ(kq.out.str(), "the queue is resumed: jobs are leased again; 1 submitter is paused: ann\n");
  EXPECT_EQ(kq.run({"resume", "--submitter", "ann"}), 0);
  EXPECT_EQ(kq.out.str(), "submitter ann is resumed, and waits for the queue, which is paused\n");
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
  EXPECT_EQ(kq.out.str(), "worker n9:9 is not connected; it gets jobs when it connects\n");
  EXPECT_FALSE(kq.requests_of<Drain>().at(0).draining);
  EXPECT_EQ(kq.run({"drain", "n1:7", "--undo"}), 0);
  EXPECT_EQ(kq.out.str(), "worker n1:7 was not draining\n");
  EXPECT_EQ(kq.run({"drain", "n1:7", "--undo", "--wait"}), 2);
}

}  // namespace
}  // namespace kq::tools
