#include "producer/client/wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"
#include "producer/client/scripted_link.h"

namespace kq::producer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

JobStatus status(Sequence seq, JobState state, std::string verdict = "", bool served = true) {
  JobStatus status;
  status.seq = seq;
  status.state = state;
  status.verdict = std::move(verdict);
  status.served = served;
  return status;
}

WaitedJob one(Sequence seq) {
  WaitedJob job;
  job.seq = seq;
  return job;
}

// A broker that answers each StatusQuery from `jobs` after a call of `on_poll`.
class WaitFor : public testing::Test {
 protected:
  void SetUp() override {
    broker_.on_request = [this](const Message<ClientRequest>& request) {
      const auto& query = std::get<StatusQuery>(request.body);
      asked_.push_back(query.seqs);
      waits_ms_.push_back(query.wait_ms);
      if (silent_) return;
      on_poll_();
      StatusReply reply;
      for (const Sequence seq : query.seqs) {
        if (jobs_.contains(seq)) reply.jobs.push_back(jobs_[seq]);
      }
      broker_.reply(request.request_id, reply);
    };
    options_.now_ms = [this] { return broker_.now_ms; };
    options_.sleep_ms = [this](std::int64_t ms) {
      sleeps_.push_back(ms);
      broker_.now_ms += ms;
    };
  }
  void set(const JobStatus& job) { jobs_[job.seq] = job; }
  Expected<WaitOutcome> wait(const std::vector<WaitedJob>& jobs) {
    Client client = broker_.client();
    WaitList list;
    for (const WaitedJob& job : jobs) list.add(job);
    return wait_for(client, std::move(list), options_);
  }

  ScriptedBroker broker_;
  std::map<Sequence, JobStatus> jobs_;
  std::function<void()> on_poll_ = [] {};
  bool silent_ = false;
  std::vector<std::vector<Sequence>> asked_;
  std::vector<std::uint32_t> waits_ms_;
  std::vector<std::int64_t> sleeps_;
  WaitOptions options_;
};

TEST_F(WaitFor, asks_only_about_unfinished_jobs_and_ever_more_slowly_a_broker_that_does_not_wait) {
  set(status(1, JobState::finished, "passed"));
  set(status(2, JobState::queued));
  on_poll_ = [&] {
    if (asked_.size() == 13) set(status(2, JobState::finished, "wrong_answer"));
  };
  auto outcome = wait({one(1), one(2)});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->end, WaitEnd::finished);
  EXPECT_THAT(asked_[0], ElementsAre(1, 2));
  EXPECT_THAT(asked_[1], ElementsAre(2));
  EXPECT_THAT(waits_ms_, ElementsAre(0, 2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000, 2000));
  EXPECT_THAT(sleeps_, ElementsAre(29, 44, 66, 99, 149, 224, 336, 504, 756, 999, 999));
  EXPECT_THAT(outcome->tally().by_verdict, ElementsAre(Pair("passed", 1), Pair("wrong_answer", 1)));
  EXPECT_EQ(outcome->jobs.verdict_of(*outcome->jobs.find(2)), "wrong_answer");
  EXPECT_EQ(exit_code_of(*outcome), ExitCode::job_failed);
}

TEST_F(WaitFor, a_wait_for_no_job_ends_at_once_and_shows_no_progress) {
  options_.progress = [](const Tally&) { ADD_FAILURE() << "there is no job to show"; };
  const auto outcome = wait({});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->end, WaitEnd::finished);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(WaitFor, learns_of_a_finished_job_at_once) {
  set(status(1, JobState::leased));
  set(status(2, JobState::leased));
  broker_.on_request = [&](const Message<ClientRequest>& request) {
    const auto& query = std::get<StatusQuery>(request.body);
    if (query.wait_ms == 0) return broker_.reply(request.request_id, StatusReply{{jobs_[1], jobs_[2]}});
    // The first query that may wait is answered after a while, and the others at the end of their time.
    const Sequence ends = query.seqs.front();
    set(status(ends, JobState::finished, "passed"));
    StatusReply reply;
    for (const Sequence seq : query.seqs) reply.jobs.push_back(jobs_[seq]);
    broker_.reply(request.request_id, reply, query.seqs.size() == 2 ? 1'500 : query.wait_ms);
  };
  const auto outcome = wait({one(1), one(2)});
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_EQ(outcome->tally().passed(), 2u);
  EXPECT_EQ(broker_.requests.size(), 3u) << "the client sends nothing again while the broker delays its reply";
  EXPECT_THAT(sleeps_, ElementsAre(kPollMsMin));
}

TEST_F(WaitFor, of_very_many_jobs_those_behind_the_first_are_asked_about_in_turn) {
  std::vector<WaitedJob> many;
  const Sequence last = 8 * kQuerySeqsMax;
  for (Sequence seq = 1; seq <= last; ++seq) {
    set(status(seq, JobState::queued));
    many.push_back(one(seq));
  }
  std::size_t rounds = 0;
  options_.progress = [&](const Tally&) {
    if (++rounds == 3) {
      for (Sequence seq = 1; seq <= last; ++seq) set(status(seq, JobState::finished, "passed"));
    }
  };
  EXPECT_EQ(wait(many)->tally().passed(), last);
  std::vector<Sequence> firsts;
  for (const auto& seqs : asked_) firsts.push_back((seqs.front() - 1) / kQuerySeqsMax);
  EXPECT_THAT(firsts, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 0, 5, 6, 7, 1, 0, 2, 3, 4, 5, 1, 6, 7));
}

TEST(WaitList, counts_a_job_as_often_as_it_was_added_and_takes_16_bytes_for_it) {
  WaitList list;
  for (const Sequence seq : {9, 3, 9}) list.add(one(seq));
  EXPECT_EQ(list.jobs().size(), 2u);
  EXPECT_EQ(list.tally().total, 3u);
  EXPECT_EQ(list.tally().queued, 3u);
  list.update(status(9, JobState::leased));
  EXPECT_EQ(list.tally().running, 2u);
  list.update(status(9, JobState::finished, "passed"));
  list.update(status(9, JobState::finished, "passed"));
  list.update(status(4, JobState::finished, "passed"));
  EXPECT_EQ(list.tally().passed(), 2u);
  EXPECT_EQ(list.open_count(), 1u);
  EXPECT_EQ(list.find(4), nullptr);
}

TEST(WaitList, counts_builds_in_progress_and_knows_when_the_longest_began) {
  WaitList list;
  for (const Sequence seq : {1, 2}) list.add(one(seq));
  JobStatus first = status(1, JobState::leased);
  first.build_started_ms = 7'000;
  JobStatus second = status(2, JobState::queued);
  second.build_started_ms = 5'000;
  list.update(first);
  list.update(second);
  EXPECT_EQ(list.tally().building, 2u);
  EXPECT_EQ(list.tally().build_started_ms, 5'000);
  list.update(status(2, JobState::leased));
  EXPECT_EQ(list.tally().building, 1u);
  EXPECT_EQ(list.tally().build_started_ms, 7'000);
  list.update(status(1, JobState::finished, "passed"));
  EXPECT_EQ(list.tally().building, 0u);
  EXPECT_EQ(list.tally().build_started_ms, 0);
}

TEST_F(WaitFor, nothing_to_wait_for_is_finished) {
  EXPECT_EQ(wait({})->end, WaitEnd::finished);
  EXPECT_EQ(exit_code_of(*wait({})), ExitCode::ok);
}

TEST_F(WaitFor, a_job_of_two_labels_is_asked_once_and_counted_twice) {
  set(status(7, JobState::finished, "passed"));
  const auto outcome = wait({one(7), one(7)});
  EXPECT_THAT(asked_, ElementsAre(ElementsAre(7)));
  EXPECT_EQ(outcome->tally().passed(), 2u);
  EXPECT_EQ(outcome->tally().total, 2u);
  EXPECT_EQ(exit_code_of(*outcome), ExitCode::ok);
}

TEST_F(WaitFor, many_jobs_are_asked_about_in_several_messages) {
  std::vector<WaitedJob> many;
  for (Sequence seq = 1; seq <= kQuerySeqsMax + 1; ++seq) {
    set(status(seq, JobState::finished, "passed"));
    many.push_back(one(seq));
  }
  EXPECT_EQ(wait(many)->tally().passed(), kQuerySeqsMax + 1);
  EXPECT_EQ(asked_.size(), 2u);
  EXPECT_EQ(asked_[1].size(), 1u);
}

TEST_F(WaitFor, gives_up_at_its_timeout) {
  set(status(1, JobState::leased));
  options_.timeout_ms = 2'000;
  const auto outcome = wait({one(1)});
  EXPECT_EQ(outcome->end, WaitEnd::timed_out);
  EXPECT_EQ(exit_code_of(*outcome), ExitCode::gave_up);
  EXPECT_EQ(outcome->tally().running, 1u);
  EXPECT_NEAR(static_cast<double>(broker_.now_ms), 2'000, 5);
}

TEST_F(WaitFor, gives_up_at_its_timeout_although_the_broker_is_silent) {
  silent_ = true;
  options_.timeout_ms = 3'000;
  EXPECT_EQ(wait({one(1)})->end, WaitEnd::timed_out);
}

TEST_F(WaitFor, outlives_a_restart_of_the_broker) {
  set(status(1, JobState::finished, "passed"));
  silent_ = true;
  int asked = 0;
  options_.interrupted = [] { return false; };
  const auto answer = broker_.on_request;
  broker_.on_request = [&, answer](const auto& request) {
    silent_ = ++asked < 30;
    answer(request);
  };
  EXPECT_EQ(wait({one(1)})->end, WaitEnd::finished);
  EXPECT_GT(broker_.now_ms, 25'000);
}

TEST_F(WaitFor, a_broker_that_stays_away_is_our_fault) {
  silent_ = true;
  const auto outcome = wait({one(1)});
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().kind, ErrorKind::our_fault);
  EXPECT_THAT(outcome.error().message, HasSubstr("did not answer within 60 s"));
}

TEST_F(WaitFor, a_job_the_broker_does_not_know_is_our_fault) {
  set(status(1, JobState::queued));
  const auto outcome = wait({one(1), one(5)});
  ASSERT_FALSE(outcome);
  EXPECT_THAT(outcome.error().message,
              HasSubstr("does not know job 5; its retention removed it, or its store was replaced"));
}

TEST_F(WaitFor, an_interrupt_ends_the_wait_with_the_known_states) {
  set(status(1, JobState::leased));
  options_.interrupted = [&] { return asked_.size() == 3; };
  const auto outcome = wait({one(1)});
  EXPECT_EQ(outcome->end, WaitEnd::interrupted);
  EXPECT_EQ(outcome->tally().running, 1u);
  EXPECT_EQ(exit_code_of(*outcome), ExitCode::interrupted);
}

TEST_F(WaitFor, progress_says_what_is_not_served) {
  set(status(1, JobState::queued, "", false));
  set(status(2, JobState::queued, "", false));
  set(status(3, JobState::queued, "", false));
  set(status(4, JobState::queued, "", true));
  Tally last;
  options_.progress = [&](const Tally& tally) { last = tally; };
  options_.timeout_ms = 100;
  ASSERT_TRUE(wait({{1, {DeviceWish::cuda, ""}},
                    {2, {DeviceWish::any, "NVIDIA H200"}},
                    {3, {DeviceWish::any, ""}},
                    {4, {DeviceWish::cpu, ""}}}));
  EXPECT_THAT(last.unserved, ElementsAre(Pair("a NVIDIA H200", 1), Pair("a cuda device", 1), Pair("any device", 1)));
  EXPECT_EQ(last.queued, 4u);
}

TEST_F(WaitFor, progress_says_that_jobs_are_paused_or_their_workers_drain) {
  set(status(1, JobState::queued, "", false));
  jobs_[1].why = WaitReason::paused;  // also where no worker could run the job
  set(status(2, JobState::queued, "", true));
  jobs_[2].why = WaitReason::draining;
  set(status(3, JobState::queued, "", true));
  jobs_[3].why = WaitReason::behind;
  Tally last;
  options_.progress = [&](const Tally& tally) { last = tally; };
  options_.timeout_ms = 100;
  ASSERT_TRUE(wait({one(1), one(2), one(3)}));
  EXPECT_THAT(last.unserved, ElementsAre(Pair(kDrainingText, 1), Pair(kPausedText, 1)));
  EXPECT_EQ(last.queued, 3u);
}

TEST_F(WaitFor, an_abandoned_job_outweighs_a_failed_one) {
  set(status(1, JobState::finished, "abandoned"));
  set(status(2, JobState::finished, "wrong_answer"));
  const auto outcome = wait({one(1), one(2)});
  EXPECT_EQ(exit_code_of(*outcome), ExitCode::our_fault);
  EXPECT_EQ(outcome->tally().failed(), 1u);
}

TEST_F(WaitFor, compiled_only_does_not_pass) {
  set(status(1, JobState::finished, "compiled_only"));
  EXPECT_EQ(exit_code_of(*wait({one(1)})), ExitCode::job_failed);
}

}  // namespace
}  // namespace kq::producer
