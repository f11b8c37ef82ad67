#include "broker/jobs/submit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/blob.h"
#include "core/limits.h"
#include "store/memory_store.h"
#include "store/reader.h"

namespace kq::broker {
namespace {

using testing::HasSubstr;

class SubmitTest : public testing::Test {
 protected:
  static Submission job(const std::string& label) {
    Submission submission;
    submission.label = label;
    submission.files = {{"kernel.py", sha256(label)}};
    submission.problem.name = "relu";
    submission.problem.file = "relu.py";
    submission.problem.hash = sha256("relu");
    return submission;
  }

  static SubmitBatch batch(const std::vector<std::string>& labels) {
    SubmitBatch batch{.run = "r", .jobs = {}, .blobs = {{sha256("relu"), "relu"}}};
    for (const std::string& label : labels) {
      batch.jobs.push_back(job(label));
      batch.blobs.push_back({sha256(label), label});
    }
    return batch;
  }

  // Handles the batch in a turn of its own, commits the turn and returns the answer.
  ClientReply reply_to(SubmitBatch batch) {
    Ready ready;
    Step step{state, ready, 1000};
    EXPECT_TRUE(answer(step, {.peer = "c", .request_id = 1}, std::move(batch)));
    auto sends = commit(std::move(ready), store);
    return std::get<ToClient>(sends->at(0)).message.body;
  }

  std::string refusal_of(const SubmitBatch& batch) { return std::get<Refused>(reply_to(batch)).reason; }

  store::MemoryStore store;
  State state{.options = {}, .store = &store};
};

TEST_F(SubmitTest, a_row_keeps_its_author_and_tags_where_the_same_kernel_comes_without_them) {
  const auto row_after = [&](std::string author, std::map<std::string, std::string> tags) {
    SubmitBatch sent = batch({"a"});
    sent.jobs[0].author = std::move(author);
    sent.jobs[0].tags = std::move(tags);
    EXPECT_EQ(std::get<SubmitAck>(reply_to(std::move(sent))).jobs.at(0).seq, 1u);
    return (*store::read_entry(store, "r", "a"))->submission;
  };
  EXPECT_EQ(row_after("ann", {{"model", "m1"}}).author, "ann");
  const Submission kept = row_after("", {});
  EXPECT_EQ(kept.author, "ann");
  EXPECT_EQ(kept.tags.at("model"), "m1");
  const Submission changed = row_after("ben", {});
  EXPECT_EQ(changed.author, "ben");
  EXPECT_EQ(changed.tags.at("model"), "m1");
  EXPECT_EQ(row_after("", {{"model", "m2"}}).tags.at("model"), "m2");
  EXPECT_EQ(row_after("-", {}).author, "");
  EXPECT_EQ(row_after("", {}).tags.at("model"), "m2");
  EXPECT_TRUE(row_after("", {{"-", ""}}).tags.empty());
}

TEST_F(SubmitTest, a_new_row_has_neither_an_author_nor_tags_where_it_names_none) {
  SubmitBatch sent = batch({"a"});
  sent.jobs[0].author = "-";
  sent.jobs[0].tags = {{"-", ""}};
  EXPECT_EQ(std::get<SubmitAck>(reply_to(std::move(sent))).jobs.at(0).acceptance, Acceptance::accepted);
  EXPECT_EQ((*store::read_entry(store, "r", "a"))->submission.author, "");
  EXPECT_TRUE((*store::read_entry(store, "r", "a"))->submission.tags.empty());
}

TEST_F(SubmitTest, an_acknowledged_job_can_be_read_back) {
  const SubmitBatch sent = batch({"a"});
  const auto ack = std::get<SubmitAck>(reply_to(sent)).jobs.at(0);
  EXPECT_EQ(ack.acceptance, Acceptance::accepted);
  EXPECT_EQ((*store::read_body(store, ack.seq)), sent.jobs[0]);
  EXPECT_EQ((*store::read_job(store, ack.seq))->state, JobState::queued);
  EXPECT_EQ(*store::find_key(store, submission_key(sent.jobs[0])), ack.seq);
  EXPECT_EQ(store::read_run(store, {.run = "r", .after_label = "", .limit = 9})->rows.size(), 1u);
}

TEST_F(SubmitTest, a_batch_has_limits) {
  SubmitBatch many = batch({});
  many.jobs.assign(kSubmitJobsMax + 1, job("a"));
  EXPECT_EQ(refusal_of(many), "257 jobs in one batch, at most 256 are allowed");

  const std::string large(kFileBytesMax + 1, 'x');
  EXPECT_EQ(refusal_of({.run = "r", .jobs = {job("a")}, .blobs = {{sha256(large), large}}}),
            "blob 0: 1048577 bytes, at most 1048576 are allowed");

  const std::string full(kFileBytesMax, 'x');
  EXPECT_THAT(refusal_of({.run = "r", .jobs = {job("a")}, .blobs = std::vector(17, Blob{sha256(full), full})}),
              HasSubstr("bytes of files in one batch, at most 16777216 are allowed"));

  // These files are small when packed and large when unpacked.
  const std::string zeros(kFileBytesMax, '\0');
  Compressor compressor;
  const Blob small = packed(compressor, sha256(zeros), zeros);
  EXPECT_EQ(refusal_of({.run = "r", .jobs = std::vector(4, job("a")), .blobs = std::vector(65, small)}),
            "68157440 bytes of files in one batch when unpacked, at most 67108864 are allowed");
  EXPECT_EQ(refusal_of({.run = "r", .jobs = {job("a")}, .blobs = std::vector(18, Blob{sha256("x"), "x"})}),
            "18 files for 1 jobs, at most 17 are allowed");
}

TEST_F(SubmitTest, blobs_of_refused_jobs_are_not_kept) {
  SubmitBatch one = batch({"a"});
  one.jobs[0].files.clear();
  reply_to(one);
  EXPECT_EQ(*store.get(store::Family::blob, as_bytes(sha256("a"))), std::nullopt);
}

TEST_F(SubmitTest, a_blob_that_many_jobs_share_is_written_once) {
  reply_to(batch({"a"}));
  Ready ready;
  Step step{state, ready, 1000};
  ASSERT_TRUE(answer(step, {.peer = "c", .request_id = 1}, batch({"b"})));
  std::size_t blob_count = 0;
  for (const store::Write& write : ready.writes()) blob_count += write.family == store::Family::blob ? 1 : 0;
  EXPECT_EQ(blob_count, 1u);  // the file of b; the cache knows that the problem's file is there
}

TEST_F(SubmitTest, a_key_without_its_job_is_damage) {
  const store::Write write{store::Family::ids, std::string(as_bytes(submission_key(job("a")))),
                           std::string("\0\0\0\0\0\0\0\7", 8)};
  ASSERT_TRUE(store.commit(std::span(&write, 1)));
  Ready ready;
  Step step{state, ready, 1000};
  const auto done = answer(step, {.peer = "c", .request_id = 1}, batch({"a"}));
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message, HasSubstr("job 7 has a key, but no record"));
}

}  // namespace
}  // namespace kq::broker
