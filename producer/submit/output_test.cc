#include "producer/submit/output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::producer {
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
  SubmitSummary summary;
  summary.run = "monday";
  summary.add(job("a", Acceptance::accepted, 7));
  summary.add(job("b", Acceptance::reused, 3));
  summary.add(job("c", Acceptance::refused, 0, "too \"big\""));
  return summary;
}

std::string listed_jobs(const std::function<void(JobList&)>& fill) {
  std::string text;
  JobList list([&](const std::string& piece) { text += piece; });
  list.name_run("monday");
  fill(list);
  list.end({});
  return text;
}

TEST(SubmitOutput, counts_every_answer) {
  EXPECT_EQ(counts_text(three()), "accepted 1, reused 1, refused 1; run monday");
}

TEST(SubmitOutput, numbers_are_ranges_on_a_terminal) {
  NumberRanges numbers;
  EXPECT_EQ(numbers.text(), "");
  numbers.add(7);
  EXPECT_EQ(numbers.text(), "job 7");
  for (Sequence seq = 8; seq <= 5'000; ++seq) numbers.add(seq);
  numbers.add(3);
  EXPECT_EQ(numbers.text(), "jobs 7-5000, 3");
  for (Sequence seq = 10'000; seq < 10'100; seq += 2) numbers.add(seq);
  EXPECT_EQ(numbers.text(), "jobs 7-5000, 3, 10000, 10002, 10004, 10006, 10008, 10010 and 44 more");
}

TEST(SubmitOutput, json_is_one_object) {
  EXPECT_EQ(listed_jobs([](JobList&) {}), "{\"run\": \"monday\", \"jobs\": []}\n");
  EXPECT_EQ(listed_jobs([](JobList& list) {
              for (const SubmittedJob& job : three().jobs) list.add("monday", job_json(job));
            }),
            R"({"run": "monday", "jobs": [)"
            R"({"id": 7, "label": "a", "state": "queued", "acceptance": "accepted", "reason": null}, )"
            R"({"id": 3, "label": "b", "state": "queued", "acceptance": "reused", "reason": null}, )"
            R"({"id": null, "label": "c", "state": null, "acceptance": "refused", "reason": "too \"big\""}]})"
            "\n");
}

TEST(SubmitOutput, json_names_other_runs_and_has_further_members) {
  std::string text;
  const auto keep = [&](const std::string& piece) { text += piece; };
  JobList list(keep);
  list.add("monday", Json{JsonObject{{"id", Json{std::int64_t{1}}}}});
  list.add("tuesday", Json{JsonObject{{"id", Json{std::int64_t{2}}}}});
  list.end(end_members({.left_out_count = 1, .notes = {"two rows"}, .errors = {"a.py is empty"}}, 2));
  EXPECT_EQ(text, R"({"run": "monday", "jobs": [{"id": 1}, {"id": 2, "run": "tuesday"}], )"
                  R"("left_out": 1, "notes": ["two rows"], "errors": ["a.py is empty"], "exit_code": 2})"
                  "\n");
  text.clear();
  JobList(keep).end({});
  EXPECT_EQ(text, "{\"run\": null, \"jobs\": []}\n");
}

TEST(SubmitOutput, a_job_in_a_folder_has_no_number) {
  PackedJob job;
  job.submission.label = "a";
  EXPECT_EQ(to_text(spooled_json(job)),
            R"({"id": null, "label": "a", "state": null, "acceptance": "spooled", "reason": null})");
}

TEST(SubmitOutput, json_after_a_wait_has_verdicts) {
  const JobEnd wrong{.state = JobState::finished, .verdict = "wrong_answer", .reason = "value"};
  EXPECT_EQ(to_text(job_json(job("a", Acceptance::accepted, 7), wrong)),
            R"({"id": 7, "label": "a", "state": "finished", "acceptance": "accepted", "reason": "value", )"
            R"("verdict": "wrong_answer"})");
  const JobEnd end{.state = JobState::finished, .verdict = "passed", .members = {{"speedup", Json{2.0}}}};
  EXPECT_EQ(to_text(job_json(job("a", Acceptance::accepted, 7), end)),
            R"({"id": 7, "label": "a", "state": "finished", "acceptance": "accepted", "reason": null, )"
            R"("verdict": "passed", "speedup": 2.0})");
}

TEST(SubmitOutput, a_dry_run_lists_what_would_be_sent) {
  PackedJob job;
  job.submission.label = "a";
  job.submission.problem.name = "relu";
  const std::string key = to_hex(submission_key(job.submission));
  EXPECT_EQ(dry_run_line(job), "a\ttorch\tany\t" + key.substr(0, 12) + "\tproblem=relu\n");
  EXPECT_EQ(to_text(dry_run_json(job)),
            R"({"label": "a", "problem": "relu", "backend": "torch", "device": "any", "gpu": "", "key": ")" + key +
                R"(", "taken": []})");
  job.submission.gpu_model = "NVIDIA H200";
  job.header_settings = {"precision=fp16 (a.py:1)", "timed=7 (a.py:2)"};
  EXPECT_THAT(dry_run_line(job), testing::StartsWith("a\ttorch\tNVIDIA H200\t"));
  EXPECT_THAT(dry_run_line(job), testing::EndsWith("\tproblem=relu precision=fp16 (a.py:1) timed=7 (a.py:2)\n"));
  job.header_settings = {"problem=../relu.py (a.py:1)"};
  EXPECT_THAT(dry_run_line(job), testing::EndsWith("\tproblem=../relu.py (a.py:1)\n"));
}

TEST(SubmitOutput, events_are_objects_on_lines_of_their_own) {
  EXPECT_EQ(
      sent_event(three(), 9),
      "{\"event\": \"sent\", \"run\": \"monday\", \"jobs\": 9, \"accepted\": 1, \"reused\": 1, \"refused\": 1}\n");
  Tally tally;
  tally.total = 3;
  tally.finished = 1;
  tally.by_verdict["passed"] = 1;
  EXPECT_EQ(wait_event(tally),
            "{\"event\": \"waiting\", \"jobs\": 3, \"queued\": 0, \"running\": 0, \"finished\": 1, \"verdicts\": "
            "{\"passed\": 1}}\n");
}

TEST(SubmitOutput, sending_has_a_progress_line) {
  EXPECT_EQ(sending_text(2'560, 1'000'000), "[   2560/1000000]   0% sent");
  EXPECT_EQ(sending_text(0, 0), "[0/0] 100% sent");
}

TEST(SubmitOutput, names_the_commands_that_resume_and_cancel) {
  EXPECT_EQ(
      resume_text(3, "monday"),
      "3 accepted jobs stay with the broker; resume: kq results monday --wait; cancel: kq ctl cancel --run monday");
  EXPECT_EQ(resume_text(2, "monday", "ipc:///tmp/a b"),
            "2 accepted jobs stay with the broker; resume: kq results monday --wait --broker 'ipc:///tmp/a b'; cancel: "
            "kq ctl cancel --run monday --broker 'ipc:///tmp/a b'");
  EXPECT_EQ(resume_text(1, "it's mine"),
            "1 accepted job stays with the broker; resume: kq results 'it'\\''s mine' --wait; cancel: kq ctl cancel "
            "--run 'it'\\''s mine'");
}

}  // namespace
}  // namespace kq::producer
