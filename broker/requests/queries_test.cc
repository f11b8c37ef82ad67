#include "broker/requests/queries.h"

#include <gtest/gtest.h>

#include "core/base/version.h"
#include "core/codec/codec.h"
#include "core/limits.h"
#include "store/keys.h"
#include "store/memory_store.h"

namespace kq::broker {
namespace {

class QueriesTest : public testing::Test {
 protected:
  ClientReply reply_to(const auto& query) {
    Ready ready;
    Step step{state, ready, 1000};
    EXPECT_TRUE(answer(step, {.peer = "c", .request_id = 1}, query));
    EXPECT_TRUE(ready.writes().empty());
    return std::get<ToClient>(commit(std::move(ready), store)->at(0)).message.body;
  }
  // Stores a job of the run "r" that ended with this result. Its label is its number.
  void add_finished(Sequence seq, const Result& result) {
    Submission submission;
    submission.label = std::to_string(seq);
    const store::Write writes[] = {
        {store::Family::run, store::run_key("r", submission.label), encode(RunEntry{seq, submission})},
        {store::Family::state, store::sequence_key(seq),
         encode(JobRecord{.seq = seq, .key = {}, .state = JobState::finished, .last_error = ""})},
        {store::Family::result, store::sequence_key(seq), encode(result)}};
    ASSERT_TRUE(store.commit(writes));
  }

  store::MemoryStore store;
  State state{.options = {}, .store = &store};
};

TEST_F(QueriesTest, too_many_jobs_in_one_query_are_refused) {
  EXPECT_EQ(std::get<Refused>(reply_to(StatusQuery{std::vector<Sequence>(kQuerySeqsMax + 1)})).reason,
            "4097 jobs in one query, at most 4096 are allowed");
}

TEST_F(QueriesTest, unknown_jobs_are_omitted) {
  EXPECT_TRUE(std::get<StatusReply>(reply_to(StatusQuery{{1, 2}})).jobs.empty());
}

TEST_F(QueriesTest, an_idle_broker_tells_its_version) {
  const auto reply = std::get<BrokerReply>(reply_to(BrokerQuery{}));
  EXPECT_EQ(reply.version, kVersion);
  EXPECT_EQ(reply.queued + reply.leased, 0u);
}

TEST_F(QueriesTest, a_page_of_long_results_fits_into_a_message) {
  Result result;
  result.verdict = ended(VerdictName::timed_out, {});
  result.log.assign(10u << 20, 'x');
  for (const Sequence seq : {1, 2, 3}) add_finished(seq, result);
  std::vector<std::string> labels;
  for (bool more = true; more;) {
    const auto page = std::get<RunReply>(
        reply_to(RunQuery{.run = "r", .after_label = labels.empty() ? "" : labels.back(), .limit = 256}));
    ASSERT_EQ(page.rows.size(), 1u);
    labels.push_back(page.rows[0].entry.submission.label);
    more = page.more;
  }
  EXPECT_EQ(labels, (std::vector<std::string>{"1", "2", "3"}));
}

// The samples of workloads are a part of every row, so a few rows may have more items than a message may have.
TEST_F(QueriesTest, a_page_of_many_samples_fits_into_a_message) {
  Result result;
  result.verdict = ended(VerdictName::wrong_answer, {});
  result.cases.resize(kWorkloadsMax);
  for (CaseResult& one : result.cases) {
    one.verdict = Passed{};
    one.samples.submission_ns.assign(kTrialsMax, 1);
  }
  constexpr Sequence kJobs = 20;
  for (Sequence seq = 1; seq <= kJobs; ++seq) add_finished(seq, result);
  std::size_t rows = 0;
  std::string last;
  for (bool more = true; more;) {
    const ClientReply reply = reply_to(RunQuery{.run = "r", .after_label = last, .limit = 256});
    EXPECT_TRUE(decode_message<ClientReply>(encode_message<ClientReply>({1, reply})));
    const auto& page = std::get<RunReply>(reply);
    ASSERT_FALSE(page.rows.empty());
    EXPECT_LT(page.rows.size(), kJobs);
    rows += page.rows.size();
    last = page.rows.back().entry.submission.label;
    more = page.more;
  }
  EXPECT_EQ(rows, kJobs);
}

TEST_F(QueriesTest, an_unreadable_store_is_not_the_clients_error) {
  const store::Write write{store::Family::state, store::sequence_key(1), "damaged"};
  ASSERT_TRUE(store.commit(std::span(&write, 1)));
  Ready ready;
  Step step{state, ready, 1000};
  const auto done = answer(step, {.peer = "c", .request_id = 1}, StatusQuery{{1}});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::our_fault);
}

}  // namespace
}  // namespace kq::broker
