#include "broker/jobs/lifecycle.h"

#include <gtest/gtest.h>

#include "broker/invariants.h"
#include "broker/jobs/lease.h"
#include "core/codec/codec.h"
#include "store/keys.h"
#include "store/memory_store.h"
#include "store/reader.h"

namespace kq::broker {
namespace {

class LifecycleTest : public testing::Test {
 protected:
  Job& enqueue_one() {
    const Sequence seq = state.next_sequence++;
    EXPECT_TRUE(enqueue(step, {.seq = seq, .key = sha256(std::to_string(seq)), .last_error = ""}));
    return *state.jobs.find(seq);
  }

  Session& worker(std::uint64_t epoch) {
    return state.workers.insert(
        "peer " + std::to_string(epoch),
        Hello{.worker = "w", .epoch = epoch, .devices = {DeviceInfo{}}, .credit = 1, .evaluator = ""}, step.now_ms);
  }

  // As its timer would have it.
  void come_due_now(Job& job) {
    clear_timer(step, {.at_ms = job.record.not_before_ms, .kind = store::TimerKind::may_run, .seq = job.record.seq});
    come_due(step, job);
  }

  void TearDown() override { EXPECT_EQ(broken_invariant(state), std::nullopt); }

  store::MemoryStore store;
  State state{.options = {}, .store = &store};
  Ready ready;
  Step step{state, ready, 1000};
};

TEST_F(LifecycleTest, every_lease_has_a_new_attempt_number) {
  Job& job = enqueue_one();
  Session& session = worker(1);
  lease_out(step, job, session, 0);
  EXPECT_EQ(current(state, {1, 1}), &job);
  put_back(step, job, "why not");
  EXPECT_EQ(current(state, {1, 1}), nullptr);
  lease_out(step, job, session, 0);
  EXPECT_EQ(current(state, {1, 1}), nullptr);
  EXPECT_EQ(current(state, {1, 2}), &job);
}

TEST_F(LifecycleTest, whoever_lists_a_lease_that_nobody_holds_takes_it_up) {
  Job& job = enqueue_one();
  Session& first = worker(1);
  Session& second = worker(2);
  lease_out(step, job, first, 0);
  EXPECT_FALSE(is_held_by_another(state, job, 1));
  EXPECT_TRUE(is_held_by_another(state, job, 2));
  orphan(step, job);
  EXPECT_FALSE(is_held_by_another(state, job, 2));
  step.now_ms = 2000;
  hold(step, job, second);
  EXPECT_TRUE(first.leases.empty());
  EXPECT_EQ(second.leases, (std::set<Sequence>{1}));
  EXPECT_EQ(job.tenure->deadline_ms, 2000 + state.options.lease_ms);
}

TEST_F(LifecycleTest, an_orphan_keeps_its_deadline) {
  Job& job = enqueue_one();
  lease_out(step, job, worker(1), 0);
  const std::int64_t deadline_ms = job.tenure->deadline_ms;
  orphan(step, job);
  EXPECT_EQ(job.tenure->holder, kNobody);
  EXPECT_EQ(job.tenure->deadline_ms, deadline_ms);
}

TEST_F(LifecycleTest, job_and_worker_pause_twice_as_long_after_each_failure_in_a_row) {
  state.options.attempts_max = 100;
  state.options.retry_ms_max = 3000;
  state.options.rest_ms_max = 5000;
  Job& job = enqueue_one();
  Session& session = worker(1);
  for (const auto& [pause_ms, rest_ms] : {std::pair(1000, 1000), {2000, 2000}, {3000, 4000}, {3000, 5000}}) {
    lease_out(step, job, session, 0);
    ASSERT_TRUE(fail(step, job, "no disk"));
    EXPECT_EQ(job.record.not_before_ms, step.now_ms + pause_ms);
    EXPECT_EQ(session.rests_until_ms, step.now_ms + rest_ms);
    come_due_now(job);
  }
}

TEST_F(LifecycleTest, a_worker_that_loses_many_leases_at_once_is_one_line_in_the_log) {
  Session& session = worker(1);
  for (int i = 0; i < 3; ++i) lease_out(step, enqueue_one(), session, 0);
  step.now_ms += state.options.lease_ms;
  ASSERT_TRUE(expire_leases(step));
  std::vector<std::string> warnings;
  for (const Note& note : ready.notes()) {
    if (note.level == NoteLevel::warning) warnings.push_back(note.text);
  }
  EXPECT_EQ(warnings, (std::vector<std::string>{"job 1, attempt 1: failure 1, worker w was silent for longer than its "
                                                "lease of 30000 ms (and 2 more failures of w)"}));
}

TEST_F(LifecycleTest, the_last_failure_abandons_with_its_evidence) {
  Job& job = enqueue_one();
  Session& session = worker(1);
  for (std::uint32_t i = 0; i < kAttemptsMax; ++i) {
    lease_out(step, job, session, 0);
    ASSERT_TRUE(fail(step, job, "failure " + std::to_string(i)));
    if (job.record.state == JobState::queued) come_due_now(job);
  }
  ASSERT_TRUE(commit(std::move(ready), store));
  const auto result = store::read_result(store, 1, false);
  ASSERT_TRUE(result && *result);
  EXPECT_EQ(name_of((*result)->verdict), VerdictName::abandoned);
  EXPECT_EQ(evidence_of((*result)->verdict)->message, "failure 2");
  EXPECT_EQ((*store::read_job(store, 1))->state, JobState::finished);
}

TEST_F(LifecycleTest, the_log_names_whose_jobs_have_most_of_the_different_requirements) {
  state.options.classes_max = 3;
  const auto enqueue_for = [&](const std::string& submitter, const std::string& label) {
    const Sequence seq = state.next_sequence++;
    return enqueue(step, {.seq = seq,
                          .key = sha256(std::to_string(seq)),
                          .last_error = "",
                          .submitter = submitter,
                          .needs = {.labels = {label}}});
  };
  ASSERT_TRUE(enqueue_for("ada", "one"));
  ASSERT_TRUE(enqueue_for("eve", "two"));
  ASSERT_TRUE(enqueue_for("eve", "three"));
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(enqueue_for("ada", "four"));
  ASSERT_EQ(ready.notes().size(), 1u) << "not a line for each";
  EXPECT_EQ(ready.notes()[0].text,
            "unfinished jobs have 3 different requirements, the limit: submitter 'eve' has most of them, 2");
  step.now_ms += 10'000;
  EXPECT_FALSE(enqueue_for("ada", "four"));
  EXPECT_EQ(ready.notes().size(), 2u);
}

TEST_F(LifecycleTest, samples_are_kept_with_the_result_and_many_beside_it) {
  Session& session = worker(1);
  Result result;
  result.verdict = ended(VerdictName::timed_out, {});
  for (const std::size_t samples_n : {kSamplesInResultMax, kSamplesInResultMax + 1}) {
    Job& job = enqueue_one();
    lease_out(step, job, session, 0);
    result.samples.submission_ns.assign(samples_n, 7);
    ASSERT_TRUE(finish(step, job, result));
  }
  ASSERT_TRUE(commit(std::move(ready), store));
  for (const Sequence seq : {1, 2}) {
    EXPECT_EQ((*store::read_result(store, seq, false))->samples, Samples{});
    EXPECT_EQ((*store::read_result(store, seq, true))->samples.submission_ns.size(), kSamplesInResultMax + seq - 1);
    EXPECT_EQ(store.get(store::Family::samples, store::sequence_key(seq))->has_value(), seq == 2);
  }
}

TEST_F(LifecycleTest, a_passed_job_without_its_body_is_damage) {
  Job& job = enqueue_one();
  lease_out(step, job, worker(1), 0);
  Result passed;
  passed.verdict = Passed{};
  const auto done = finish(step, job, std::move(passed));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "store, family 'body': job 1 has none");
}

}  // namespace
}  // namespace kq::broker
