#include "store/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/codec/codec.h"
#include "core/limits.h"
#include "core/testing/examples.h"
#include "store/keys.h"
#include "store/memory_store.h"

namespace kq::store {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A store written as the broker writes it.
class ReaderTest : public testing::Test {
 protected:
  void put(Family family, std::string key, std::string value) {
    const Write write{family, std::move(key), std::move(value)};
    ASSERT_TRUE(store.commit({&write, 1}));
  }

  void put_job(const std::string& run, const std::string& label, Sequence seq, JobState state) {
    JobRecord job = examples::job();
    job.seq = seq;
    job.state = state;
    put(Family::state, sequence_key(seq), encode(job));
    RunEntry entry = examples::run_entry();
    entry.seq = seq;
    entry.submission.label = label;
    put(Family::run, run_key(run, label), encode(entry));
    if (state == JobState::finished) put_result(seq);
  }

  void put_result(Sequence seq) {
    Result result = examples::result();
    put(Family::samples, sequence_key(seq), encode(result.samples));
    result.samples = {};
    put(Family::result, sequence_key(seq), encode(result));
  }

  void put_board(const std::string& problem, const std::string& device_model) {
    LeaderboardRow row = examples::leaderboard_row();
    row.problem_hash = sha256(problem);
    row.device_model = device_model;
    put(Family::board, board_key(row.problem_hash, device_model), encode(row));
  }

  RunReply run(const std::string& name, const std::string& after, std::uint32_t limit, bool with_samples = false) {
    const auto reply =
        read_run(store, {.run = name, .after_label = after, .limit = limit, .with_samples = with_samples});
    EXPECT_TRUE(reply) << reply.error().message;
    return reply.value_or(RunReply{});
  }

  static std::vector<std::string> labels(const RunReply& reply) {
    std::vector<std::string> found;
    for (const RunRow& row : reply.rows) found.push_back(row.entry.submission.label);
    return found;
  }

  MemoryStore store;
  Sequence last_ = 0;
};

TEST_F(ReaderTest, a_missing_record_is_empty_and_not_an_error) {
  EXPECT_EQ(read_job(store, 1).value(), std::nullopt);
  EXPECT_EQ(read_body(store, 1).value(), std::nullopt);
  EXPECT_EQ(read_result(store, 1, true).value(), std::nullopt);
  EXPECT_EQ(find_key(store, sha256("x")).value(), std::nullopt);
}

TEST_F(ReaderTest, existing_records_are_read_back) {
  put_job("nightly", "a", 42, JobState::finished);
  put(Family::body, sequence_key(42), encode(examples::submission()));
  put(Family::ids, hash_key(sha256("key")), sequence_key(42));
  EXPECT_EQ(read_job(store, 42).value(), examples::job());
  EXPECT_EQ(read_body(store, 42).value(), examples::submission());
  EXPECT_EQ(find_key(store, sha256("key")).value(), 42u);
}

TEST_F(ReaderTest, a_file_is_read_however_it_is_packed) {
  const std::string text(1'000, 'x');
  put(Family::blob, blob_key(sha256("raw"), Packing::raw), "raw");
  put(Family::blob, blob_key(sha256(text), Packing::lz4), *Compressor().compress(text));
  EXPECT_EQ(read_file(store, sha256("raw")).value(), "raw");
  EXPECT_EQ(read_file(store, sha256(text)).value(), text);
  EXPECT_EQ(read_file(store, sha256("absent")).value(), std::nullopt);
  put(Family::blob, blob_key(sha256("damaged"), Packing::lz4), "no");
  EXPECT_FALSE(read_file(store, sha256("damaged")));
}

TEST_F(ReaderTest, samples_are_joined_when_asked_for) {
  put_job("nightly", "a", 1, JobState::finished);
  EXPECT_EQ(read_result(store, 1, false).value()->samples, Samples{});
  EXPECT_EQ(read_result(store, 1, true).value(), examples::result());
  EXPECT_EQ(run("nightly", "", 1, false).rows[0].result->samples, Samples{});
  EXPECT_EQ(run("nightly", "", 1, true).rows[0].result, examples::result());
}

TEST_F(ReaderTest, a_run_comes_in_label_order_with_each_job_joined) {
  put_job("nightly", "b", 1, JobState::finished);
  put_job("nightly", "c", 2, JobState::leased);
  put_job("nightly", "a", 3, JobState::queued);
  put_job("nightly2", "a", 4, JobState::queued);
  const RunReply reply = run("nightly", "", 10);
  EXPECT_THAT(labels(reply), ElementsAre("a", "b", "c"));
  EXPECT_FALSE(reply.more);
  EXPECT_EQ(reply.rows[0].run, "nightly");
  EXPECT_EQ(reply.rows[0].job.state, JobState::queued);
  EXPECT_FALSE(reply.rows[0].result);
  EXPECT_TRUE(reply.rows[1].result);
  EXPECT_FALSE(reply.rows[2].result);
}

TEST_F(ReaderTest, former_jobs_of_a_kernel_in_the_run_are_its_reruns_when_asked_for) {
  for (const Sequence seq : {1, 2, 3}) put_job("r", "a", seq, JobState::finished);  // the row goes to job 3
  put_job("other", "a", 4, JobState::finished);
  for (const auto& [seq, name] : {std::pair<Sequence, std::string>{1, "r"}, {2, "other"}, {3, "r"}, {4, "other"}}) {
    JobRecord job = examples::job();
    job.seq = seq;
    job.state = JobState::finished;
    job.run = name;
    put(Family::state, sequence_key(seq), encode(job));
  }
  put(Family::reuse, reuse_key(2, run_key("r", "a")), reuse_value(1));  // it was a row of this run, too
  Result result = examples::result();
  Measurement& measured = std::get<Passed>(result.verdict).measurement;
  measured.submission.sample_count = measured.reference.sample_count = 20;
  result.cases.clear();
  result.kernels_ran.reset();
  put(Family::result, sequence_key(3), encode(result));
  RunEntry entry = examples::run_entry();
  entry.seq = 3;
  entry.submission.label = "a";
  entry.submission.problem.workloads = {Workload{}};
  put(Family::run, run_key("r", "a"), encode(entry));
  const auto own = board_row(entry.submission, result, 3, 1);
  ASSERT_TRUE(own);
  LeaderboardRow kernel = *own;
  kernel.runs.clear();
  for (const Sequence seq : {1, 2, 3, 4, 5}) kernel.runs.push_back({.seq = seq, .median_ns = 10.0 * double(seq)});
  put(Family::kernel, kernel_key(own->problem_hash, own->kernel_hash, own->device_model), encode(kernel));

  RunQuery query{.run = "r", .after_label = "", .limit = 10};
  EXPECT_TRUE(read_run(store, query).value().rows.at(0).reruns.empty());
  query.with_reruns = true;
  const auto reply = read_run(store, query);
  ASSERT_TRUE(reply) << reply.error().message;
  EXPECT_THAT(reply->rows.at(0).reruns,
              ElementsAre(testing::Field(&KernelRun::seq, 1), testing::Field(&KernelRun::seq, 2)));
}

TEST_F(ReaderTest, runs_come_by_name_whatever_they_hold) {
  for (const char* const run : {"nightly", "nightly2", "a"}) {
    for (const char* const label : {"x", "y", "z"}) put_job(run, label, ++last_, JobState::queued);
  }
  const auto names = [](const RunsReply& reply) {
    std::vector<std::string> found;
    for (const KnownRun& known : reply.runs) found.push_back(known.run);
    return found;
  };
  const RunsReply first = read_runs(store, {.after = "", .limit = 2}).value();
  EXPECT_THAT(names(first), ElementsAre("a", "nightly"));
  EXPECT_TRUE(first.more);
  EXPECT_EQ(first.runs[0].submitter, examples::job().first_submitter);
  EXPECT_EQ(first.runs[0].submitted_at_ms, examples::job().submitted_at_ms);
  const RunsReply second = read_runs(store, {.after = "nightly", .limit = 2}).value();
  EXPECT_THAT(names(second), ElementsAre("nightly2"));
  EXPECT_FALSE(second.more);
  EXPECT_TRUE(read_runs(store, {.after = "nightly2", .limit = 2}).value().runs.empty());
}

TEST_F(ReaderTest, a_run_that_reuses_a_job_was_submitted_when_it_did_so) {
  const std::int64_t job_ms = examples::job().submitted_at_ms;
  put_job("first", "a", 7, JobState::finished);
  put(Family::run, run_key("first", "a"), encode(ShortRunEntry{.seq = 7}));
  put_job("later", "a", 7, JobState::finished);
  put(Family::reuse, reuse_key(7, run_key("later", "a")), reuse_value(job_ms + 60'000));
  const RunsReply reply = read_runs(store, {.after = "", .limit = 2}).value();
  ASSERT_EQ(reply.runs.size(), 2u);
  EXPECT_EQ(reply.runs[0].submitted_at_ms, job_ms);
  EXPECT_EQ(reply.runs[1].submitted_at_ms, job_ms + 60'000);
}

TEST_F(ReaderTest, each_label_has_its_own_job_whether_jobs_lie_close_together_or_far_apart) {
  for (const Sequence apart : {1u, 3u, 1'000'000u}) {
    SCOPED_TRACE(apart);
    const std::string name = "run" + std::to_string(apart);
    // The jobs are not in the order of their labels, one job has two labels, and jobs of other runs are between them.
    const std::vector<std::pair<std::string, Sequence>> placed = {
        {"a", 5 * apart}, {"b", 2 * apart}, {"c", 4 * apart}, {"d", 2 * apart}, {"e", apart}};
    for (const auto& [label, seq] : placed)
      put_job(name, label, seq, seq == 4 * apart ? JobState::leased : JobState::finished);
    put_job("other", "a", 3 * apart, JobState::queued);
    const RunReply reply = run(name, "", 10);
    ASSERT_EQ(reply.rows.size(), placed.size());
    for (std::size_t i = 0; i < placed.size(); ++i) {
      EXPECT_EQ(reply.rows[i].entry.submission.label, placed[i].first);
      EXPECT_EQ(reply.rows[i].entry.seq, placed[i].second);
      EXPECT_EQ(reply.rows[i].job.seq, placed[i].second);
      EXPECT_EQ(reply.rows[i].result.has_value(), i != 2);
    }
  }
}

TEST_F(ReaderTest, a_job_queued_again_has_no_result_although_its_old_one_is_there) {
  put_job("nightly", "a", 1, JobState::finished);
  put_job("nightly", "a", 1, JobState::queued);
  EXPECT_FALSE(run("nightly", "", 1).rows[0].result);
}

TEST_F(ReaderTest, a_run_is_paged_by_its_last_label) {
  for (const std::string label : {"a", "a b", "ab", "b"}) put_job("nightly", label, 1, JobState::queued);
  const RunReply first = run("nightly", "", 2);
  EXPECT_THAT(labels(first), ElementsAre("a", "a b"));
  EXPECT_TRUE(first.more);
  const RunReply second = run("nightly", "a b", 2);
  EXPECT_THAT(labels(second), ElementsAre("ab", "b"));
  EXPECT_FALSE(second.more);
  EXPECT_THAT(labels(run("nightly", "b", 2)), ElementsAre());
  EXPECT_THAT(labels(run("nightly", "aa", 2)), ElementsAre("ab", "b")) << "the label need not exist";
}

TEST_F(ReaderTest, no_reply_holds_more_rows_than_the_limit) {
  for (std::size_t i = 0; i <= kQueryRowsMax; ++i) put_job("nightly", "label" + std::to_string(i), 1, JobState::queued);
  const RunReply reply = run("nightly", "", UINT32_MAX);
  EXPECT_EQ(reply.rows.size(), kQueryRowsMax);
  EXPECT_TRUE(reply.more);
  EXPECT_TRUE(run("nightly", "", 0).rows.empty());
}

TEST_F(ReaderTest, an_unknown_run_is_empty) {
  put_job("nightly", "a", 1, JobState::queued);
  EXPECT_TRUE(run("night", "", 10).rows.empty());
  EXPECT_TRUE(run("", "", 10).rows.empty());
  EXPECT_TRUE(run(std::string("nightly\0", 8), "", 10).rows.empty());
}

TEST_F(ReaderTest, boards_are_paged_by_their_last_key) {
  for (const std::string problem : {"p", "q"}) {
    for (const std::string device : {"H100", "H200"}) put_board(problem, device);
  }
  BoardQuery query{.after_key = "", .limit = 3};
  const auto first = read_board(store, query);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->rows.size(), 3u);
  EXPECT_TRUE(first->more);
  EXPECT_EQ(first->last_key, board_key(first->rows[2].problem_hash, first->rows[2].device_model));
  query.after_key = first->last_key;
  const auto second = read_board(store, query);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->rows.size(), 1u);
  EXPECT_FALSE(second->more);
}

// ---- damage is reported as our_fault with its place
// ------------------------------------------------------------------

template <class T>
void expect_our_fault(const Expected<T>& read, const std::string& where) {
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::our_fault);
  EXPECT_THAT(read.error().message, HasSubstr(where));
}

TEST_F(ReaderTest, a_record_that_cannot_be_read_is_our_fault) {
  put(Family::state, sequence_key(7), "garbage");
  put(Family::ids, hash_key(sha256("key")), "short");
  put(Family::board, "key", "garbage");
  put(Family::run, run_key("nightly", "a"), "garbage");
  expect_our_fault(read_job(store, 7), "store, family 'state', job 7: ");
  expect_our_fault(find_key(store, sha256("key")), "8 bytes of a sequence were expected");
  expect_our_fault(read_board(store, {.after_key = "", .limit = 1}), "store, family 'board'");
  expect_our_fault(read_runs(store, {.after = "", .limit = 1}), "store, family 'run'");
  expect_our_fault(read_run(store, {.run = "nightly", .after_label = "", .limit = 1}),
                   "store, family 'run', run 'nightly'");
}

TEST_F(ReaderTest, a_label_whose_job_is_missing_is_our_fault) {
  put(Family::run, run_key("nightly", "a"), encode(examples::run_entry()));
  expect_our_fault(read_run(store, {.run = "nightly", .after_label = "", .limit = 1}),
                   "job 42 has no record in family 'state'");
}

TEST_F(ReaderTest, the_first_missing_record_of_many_is_named) {
  for (const Sequence apart : {1u, 1'000'000u}) {
    for (Sequence i = 1; i <= 5; ++i) put_job("nightly", "label" + std::to_string(i), i * apart, JobState::finished);
    for (const Sequence i : {2u, 5u}) {
      const Write lost{Family::result, sequence_key(i * apart), std::nullopt};
      ASSERT_TRUE(store.commit({&lost, 1}));
    }
    expect_our_fault(read_run(store, {.run = "nightly", .after_label = "", .limit = 9}),
                     "job " + std::to_string(2 * apart) + ": ");
    put(Family::result, sequence_key(3 * apart), "garbage");
    expect_our_fault(read_run(store, {.run = "nightly", .after_label = "", .limit = 9}),
                     "family 'result', job " + std::to_string(3 * apart) + ": malformed message");
  }
}

TEST_F(ReaderTest, a_row_whose_submission_is_missing_keeps_its_label) {
  put_job("nightly", "a", 1, JobState::queued);
  put(Family::run, run_key("nightly", "a"), encode(ShortRunEntry{.seq = 1}));
  const auto reply = read_run(store, {.run = "nightly", .after_label = "", .limit = 1});
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->rows.at(0).entry.submission.label, "a");
  EXPECT_EQ(reply->rows.at(0).job.seq, 1u);
}

TEST_F(ReaderTest, a_finished_job_whose_result_is_missing_is_our_fault) {
  put_job("nightly", "a", 1, JobState::finished);
  const Write lost{Family::result, sequence_key(1), std::nullopt};
  ASSERT_TRUE(store.commit({&lost, 1}));
  expect_our_fault(read_run(store, {.run = "nightly", .after_label = "", .limit = 1}),
                   "the job is finished and has no result");
}

}  // namespace
}  // namespace kq::store
