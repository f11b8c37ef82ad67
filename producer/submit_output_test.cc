#include "producer/submit_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq {
namespace {

SubmittedJob job(std::string label, Acceptance acceptance, Sequence seq, std::string reason = "") {
  SubmittedJob job;
  job.label = std::move(label);
  job.ack.acceptance = acceptance;
  job.ack.seq = seq;
  job.ack.reason = std::move(reason);
  return job;
}

SubmitSummary three() {
  return {"monday",
          {job("a", Acceptance::accepted, 7), job("b", Acceptance::reused, 3),
           job("c", Acceptance::refused, 0, "too \"big\"")},
          std::nullopt};
}

TEST(SubmitOutput, numbers_of_what_was_taken_one_per_line) {
  EXPECT_EQ(job_numbers(three()), "7\n3\n");
}

TEST(SubmitOutput, counts_every_answer) {
  EXPECT_EQ(counts_text(three()), "accepted 1, reused 1, refused 1; run monday");
}

TEST(SubmitOutput, json_is_one_object) {
  EXPECT_EQ(summary_json(three(), nullptr),
            R"({"run": "monday", "jobs": [)"
            R"({"id": 7, "label": "a", "state": "queued", "acceptance": "accepted", "reason": null}, )"
            R"({"id": 3, "label": "b", "state": "queued", "acceptance": "reused", "reason": null}, )"
            R"({"id": null, "label": "c", "state": null, "acceptance": "refused", "reason": "too \"big\""}]})"
            "\n");
}

TEST(SubmitOutput, json_after_a_wait_has_verdicts) {
  WaitOutcome outcome;
  JobStatus status;
  status.seq = 7;
  status.state = JobState::finished;
  status.verdict = "passed";
  outcome.jobs.push_back(status);
  SubmitSummary summary = three();
  summary.jobs.resize(1);
  EXPECT_THAT(
      summary_json(summary, &outcome),
      testing::HasSubstr(R"("state": "finished", "acceptance": "accepted", "reason": null, "verdict": "passed")"));
}

TEST(SubmitOutput, a_dry_run_lists_what_would_be_sent) {
  Prepared prepared;
  prepared.run = "r";
  prepared.jobs.resize(2);
  prepared.jobs[0].submission.label = "a";
  prepared.jobs[1].submission.label = "b";
  prepared.jobs[1].submission.gpu_model = "NVIDIA H200";
  const std::string key = to_hex(submission_key(prepared.jobs[0].submission));
  EXPECT_THAT(dry_run_text(prepared),
              testing::StartsWith("a\ttorch\tany\t" + key.substr(0, 12) + "\nb\ttorch\tNVIDIA H200\t"));
  EXPECT_THAT(dry_run_json(prepared),
              testing::StartsWith(
                  R"({"run": "r", "jobs": [{"label": "a", "backend": "torch", "device": "any", "gpu": "", "key": ")" +
                  key + R"("}, )"));
}

TEST(SubmitOutput, says_how_to_come_back) {
  EXPECT_EQ(resume_text(3, "monday"), "3 accepted jobs keep running; resume: kq results monday --wait");
  EXPECT_EQ(resume_text(1, "it's mine"), "1 accepted job keeps running; resume: kq results 'it'\\''s mine' --wait");
}

}  // namespace
}  // namespace kq
