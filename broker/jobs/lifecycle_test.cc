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
  const Job& enqueue_one() {
    const Sequence seq = state.next_sequence++;
    EXPECT_TRUE(enqueue(step, {.seq = seq, .key = sha256(std::to_string(seq)), .last_error = ""}));
    return *state.queue.jobs().find(seq);
  }

  Session& worker(std::uint64_t epoch) {
    return state.workers.insert(
        "peer " + std::to_string(epoch),
        Hello{.worker = "w", .epoch = epoch, .devices = {DeviceInfo{}}, .credit = 1, .evaluator = ""}, step.now_ms);
  }

  void TearDown() override { EXPECT_EQ(broken_invariant(state), std::nullopt); }

  store::MemoryStore store;
  State state{.options = {}, .store = &store};
  Ready ready;
  Step step{state, ready, 1000};
};

TEST_F(LifecycleTest, every_lease_has_a_new_attempt_number) {
  const Job& job = enqueue_one();
  Session& session = worker(1);
  grant_lease(step, job, session, 0);
  EXPECT_EQ(current(state, {1, 1}), &job);
  requeue(step, job, "why not");
  EXPECT_EQ(current(state, {1, 1}), nullptr);
  grant_lease(step, job, session, 0);
  EXPECT_EQ(current(state, {1, 1}), nullptr);
  EXPECT_EQ(current(state, {1, 2}), &job);
}

TEST_F(LifecycleTest, a_session_that_lists_a_released_lease_gets_it) {
  const Job& job = enqueue_one();
  Session& first = worker(1);
  Session& second = worker(2);
  grant_lease(step, job, first, 0);
  EXPECT_FALSE(is_held_by_another(state, job, 1));
  EXPECT_TRUE(is_held_by_another(state, job, 2));
  release_lease(step, job);
  EXPECT_FALSE(is_held_by_another(state, job, 2));
  step.now_ms = 2000;
  renew_lease(step, job, second);
  EXPECT_TRUE(first.leases.empty());
  EXPECT_EQ(second.leases, (std::set<Sequence>{1}));
  EXPECT_EQ(job.lease->deadline_ms, 2000 + state.options.lease_ms);
}

TEST_F(LifecycleTest, a_released_lease_keeps_its_deadline) {
  const Job& job = enqueue_one();
  grant_lease(step, job, worker(1), 0);
  const std::int64_t deadline_ms = job.lease->deadline_ms;
  release_lease(step, job);
  EXPECT_EQ(job.lease->session_id, kNoSession);
  EXPECT_EQ(job.lease->deadline_ms, deadline_ms);
}

TEST_F(LifecycleTest, job_and_worker_pause_twice_as_long_after_each_failure_in_a_row) {
  state.options.attempts_max = 100;
  state.options.job_backoff_ms_max = 3000;
  state.options.worker_backoff_ms_max = 5000;
  const Job& job = enqueue_one();
  Session& session = worker(1);
  for (const auto& [pause_ms, rest_ms] : {std::pair(1000, 1000), {2000, 2000}, {3000, 4000}, {3000, 5000}}) {
    grant_lease(step, job, session, 0);
    ASSERT_TRUE(fail(step, job, "no disk"));
    EXPECT_EQ(job.record.not_before_ms, step.now_ms + pause_ms);
    EXPECT_EQ(session.backs_off_until_ms, step.now_ms + rest_ms);
    activate(step, job);
  }
}

TEST_F(LifecycleTest, a_worker_that_loses_many_leases_at_once_is_one_line_in_the_log) {
  Session& session = worker(1);
  for (int i = 0; i < 3; ++i) grant_lease(step, enqueue_one(), session, 0);
  step.now_ms += state.options.lease_ms;
  ASSERT_TRUE(expire_leases(step));
  std::vector<std::string> warnings;
  for (const Note& note : ready.notes()) {
    if (note.level == NoteLevel::warning) warnings.push_back(note.text);
  }
  EXPECT_EQ(warnings, (std::vector<std::string>{"job 1, attempt 1: failure 1, worker w was silent for longer than its "
                                                "lease of 30000 ms (and 2 more failures of w)"}));
}

TEST_F(LifecycleTest, the_last_failure_abandons_the_job_with_its_evidence) {
  const Job& job = enqueue_one();
  Session& session = worker(1);
  for (std::uint32_t i = 0; i < kAttemptsMax; ++i) {
    grant_lease(step, job, session, 0);
    ASSERT_TRUE(fail(step, job, "failure " + std::to_string(i)));
    if (job.record.state == JobState::queued) activate(step, job);
  }
  ASSERT_TRUE(commit(std::move(ready), store));
  const auto result = store::read_result(store, 1, false);
  ASSERT_TRUE(result && *result);
  EXPECT_EQ(name_of((*result)->verdict), VerdictName::abandoned);
  EXPECT_EQ(evidence_of((*result)->verdict)->message, "failure 2");
  EXPECT_EQ((*store::read_job(store, 1))->state, JobState::finished);
}

TEST_F(LifecycleTest, the_log_names_the_submitter_with_the_most_different_requirements) {
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
  ASSERT_EQ(ready.notes().size(), 1u) << "one warning for both";
  EXPECT_EQ(ready.notes()[0].text,
            "unfinished jobs have 3 different requirements, the limit: submitter 'eve' has most of them, 2");
  step.now_ms += 10'000;
  EXPECT_FALSE(enqueue_for("ada", "four"));
  EXPECT_EQ(ready.notes().size(), 2u);
}

TEST_F(LifecycleTest, few_samples_are_kept_in_the_result_and_many_beside_it) {
  Session& session = worker(1);
  Result result;
  result.verdict = ended(VerdictName::timed_out, {});
  for (const std::size_t sample_count : {kSamplesInResultMax, kSamplesInResultMax + 1}) {
    const Job& job = enqueue_one();
    grant_lease(step, job, session, 0);
    result.samples.submission_ns.assign(sample_count, 7);
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
  const Job& job = enqueue_one();
  grant_lease(step, job, worker(1), 0);
  Result passed;
  passed.verdict = Passed{};
  const auto done = finish(step, job, std::move(passed));
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "store, family 'body': job 1 has none");
}

}  // namespace
}  // namespace kq::broker
