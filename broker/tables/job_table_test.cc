#include "broker/tables/job_table.h"

#include <gtest/gtest.h>

namespace kq::broker {
namespace {

constexpr std::size_t kKept = 100;

Job queued(Sequence seq) {
  Job job;
  job.record.seq = seq;
  job.record.key = sha256(std::to_string(seq));
  return job;
}

ActiveLease until(std::int64_t deadline_ms) {
  ActiveLease lease;
  lease.deadline_ms = deadline_ms;
  return lease;
}

TEST(JobTable, finds_a_job_by_sequence_and_by_key) {
  JobTable jobs;
  const Job& job = jobs.insert(queued(3));
  EXPECT_EQ(jobs.find(Sequence{3}), &job);
  EXPECT_EQ(jobs.find(sha256("3")), &job);
  EXPECT_EQ(jobs.find(Sequence{4}), nullptr);
  EXPECT_EQ(jobs.find(sha256("4")), nullptr);
}

TEST(JobTable, counts_leased_jobs) {
  JobTable jobs;
  jobs.insert(queued(1));
  Job& job = jobs.insert(queued(2));
  jobs.start_lease(job, until(100));
  EXPECT_EQ(jobs.leased_count(), 1u);
  jobs.requeue(job);
  EXPECT_EQ(jobs.leased_count(), 0u);
}

TEST(JobTable, keeps_the_oldest_of_many_queued_jobs) {
  JobTable jobs;
  const Sequence n = kKept + 10;
  for (Sequence seq = 1; seq <= n; ++seq) jobs.insert(queued(seq));
  jobs.start_lease(*jobs.find(Sequence{n}), until(100));
  jobs.shrink(kKept);
  EXPECT_NE(jobs.find(Sequence{1}), nullptr);
  EXPECT_NE(jobs.find(Sequence{kKept}), nullptr);
  EXPECT_EQ(jobs.find(Sequence{kKept + 1}), nullptr);
  EXPECT_EQ(jobs.find(sha256(std::to_string(kKept + 1))), nullptr);
  EXPECT_NE(jobs.find(n), nullptr) << "a leased job always stays";
}

TEST(JobTable, leases_lapse_in_order_of_their_deadlines) {
  JobTable jobs;
  for (Sequence seq = 1; seq <= 3; ++seq)
    jobs.start_lease(jobs.insert(queued(seq)), until(100 * static_cast<std::int64_t>(4 - seq)));
  EXPECT_EQ(jobs.next_deadline_ms(), 100);
  EXPECT_EQ(jobs.lapsed(200), (std::vector<Sequence>{3, 2}));
  jobs.renew(*jobs.find(Sequence{3}), 1000);
  EXPECT_EQ(jobs.next_deadline_ms(), 200);
  EXPECT_EQ(jobs.lapsed(199), std::vector<Sequence>{});
}

TEST(JobTable, a_finished_job_stays_until_it_is_on_disk) {
  JobTable jobs;
  Job& job = jobs.insert(queued(1));
  jobs.finish(job, {.verdict = VerdictName::cancelled});
  EXPECT_EQ(jobs.find(sha256("1"))->ending->verdict, VerdictName::cancelled);
  jobs.shrink(kKept);
  EXPECT_EQ(jobs.find(Sequence{1}), nullptr);
  EXPECT_EQ(jobs.find(sha256("1")), nullptr);
}

TEST(JobTable, a_job_revived_in_its_last_turn_stays) {
  JobTable jobs;
  Job& job = jobs.insert(queued(1));
  jobs.finish(job, {});
  jobs.revive(job);
  jobs.shrink(kKept);
  ASSERT_NE(jobs.find(Sequence{1}), nullptr);
  EXPECT_EQ(jobs.find(Sequence{1})->ending, std::nullopt);
}

TEST(JobTableDeathTest, an_unknown_change_of_state_breaks_an_invariant) {
  JobTable jobs;
  Job& job = jobs.insert(queued(1));
  EXPECT_DEATH(jobs.requeue(job), "broken invariant");
}

}  // namespace
}  // namespace kq::broker
