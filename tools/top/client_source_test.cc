#include "tools/top/client_source.h"

#include <gtest/gtest.h>

#include "tools/ctl/scripted_world.h"
#include "tools/testing.h"

namespace kq::tools {
namespace {

class ClientSourceTest : public testing::Test {
 protected:
  ScriptedWorld kq_;
  ClientSource source_{kq_.broker.client(), [this] { return kq_.unix_now_ms; }};
};

TEST_F(ClientSourceTest, a_row_is_asked_for_by_its_label) {
  kq_.on<RunQuery>([](const RunQuery& query) {
    EXPECT_LT(query.after_label, "relu/1");
    return RunReply{.rows = {queued_row("relu/1", 7)}};
  });
  EXPECT_EQ(source_.row(7, "r1", "relu/1").value().entry.seq, 7u);
  // A later submission has replaced the job.
  EXPECT_EQ(source_.row(6, "r1", "relu/1").error().kind, ErrorKind::not_found);
}

TEST_F(ClientSourceTest, states_are_asked_for_without_waiting) {
  kq_.on<StatusQuery>([](const StatusQuery& query) {
    EXPECT_EQ(query.wait_ms, 0u);
    return StatusReply{.jobs = {{.seq = query.seqs.at(0), .verdict = ""}}};
  });
  const Sequence seqs[] = {4};
  EXPECT_EQ(source_.states(seqs).value().at(0).seq, 4u);
}

TEST_F(ClientSourceTest, the_time_of_the_last_answer_is_kept) {
  const std::int64_t began_ms = source_.answered_at_ms();
  kq_.unix_now_ms += 1'000;
  EXPECT_FALSE(source_.broker());
  EXPECT_EQ(source_.answered_at_ms(), began_ms);
  kq_.on<BrokerQuery>([](const BrokerQuery&) { return BrokerReply{.version = "1", .workers = {}}; });
  EXPECT_TRUE(source_.broker());
  EXPECT_EQ(source_.answered_at_ms(), began_ms + 1'000);
}

TEST_F(ClientSourceTest, no_job_is_hidden_from_the_own_key) {
  kq_.on<JobsQuery>([](const JobsQuery& query) { return page_of({job_row(1, JobState::leased)}, query, 10); });
  const auto jobs = source_.jobs({.state = JobState::leased, .limit = 5}).value();
  EXPECT_EQ(jobs.reply.jobs.size(), 1u);
  EXPECT_EQ(jobs.hidden_count, 0u);
}

}  // namespace
}  // namespace kq::tools
