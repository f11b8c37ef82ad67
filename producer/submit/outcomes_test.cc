#include "producer/submit/outcomes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "producer/client/sentences.h"

namespace kq::producer {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A call with jobs that are finished, and their rows.
struct Call {
  SubmitSummary summary;
  WaitList waited;
  std::map<std::string, RunRow> rows;

  Call() { summary.run = "mine"; }

  void add(const std::string& label, Verdict verdict) {
    SubmittedJob job;
    job.label = label;
    job.ack.acceptance = Acceptance::accepted;
    job.ack.seq = rows.size() + 1;
    waited.add({.seq = job.ack.seq});
    waited.update(
        {.seq = job.ack.seq, .state = JobState::finished, .verdict = std::string(to_string(name_of(verdict)))});
    RunRow& row = rows[label];
    row.entry.seq = job.ack.seq;
    row.entry.submission.label = label;
    row.job.state = JobState::finished;
    row.result.emplace().verdict = std::move(verdict);
    summary.add(std::move(job));
  }
  void pass(const std::string& label) {
    Passed passed;
    passed.measurement.submission.median_ns = 10'000;
    passed.measurement.reference.median_ns = 20'000;
    add(label, passed);
  }
  void fail(const std::string& label, std::string message) {
    Evidence evidence;
    evidence.message = std::move(message);
    add(label, ended(VerdictName::crashed, evidence));
  }
  ReadRows read() {
    return [this](const std::vector<std::string>& labels, const VisitRow& visit) -> Expected<void> {
      for (const std::string& label : labels) visit(rows.at(label));
      return {};
    };
  }
  std::vector<std::string> texts() { return outcome_texts(summary, waited, read(), ""); }
  std::string json() {
    std::string text;
    JobList list([&](const std::string& piece) { text += piece; });
    list_jobs(summary, waited, read(), list);
    list.end({});
    return text;
  }
};

TEST(outcomes, a_passed_job_has_times_and_another_its_evidence) {
  Call call;
  call.fail("b", "signal 11\nat 0x0");
  call.pass("a");
  EXPECT_THAT(call.texts(), ElementsAre("a: passed: 10.0 us, the reference 20.0 us, speedup 2.00x",
                                        "b: crashed: signal 11\n    at 0x0"));
  EXPECT_EQ(next_command(call.summary, call.waited, " --broker X"),
            "kq results mine --failed --broker X shows why; kq show mine b --broker X shows one job, what it printed, "
            "and how to measure it again");
}

TEST(outcomes, of_many_failed_jobs_the_first_are_told_by_a_line_each) {
  Call call;
  for (int i = 100; i < 125; ++i) call.fail("k" + std::to_string(i), "signal 11\nat 0x0");
  const std::vector<std::string> texts = call.texts();
  ASSERT_EQ(texts.size(), kSentencesShown + 1);
  EXPECT_EQ(texts.front(), "k100: crashed: signal 11");
  EXPECT_EQ(texts.back(), "and 5 more that did not pass: kq results mine --failed");
}

TEST(outcomes, rows_that_cannot_be_read_are_left_out) {
  Call call;
  call.pass("a");
  const ReadRows nothing = [](const std::vector<std::string>&, const VisitRow&) -> Expected<void> {
    return our_fault("no broker");
  };
  EXPECT_THAT(outcome_texts(call.summary, call.waited, nothing, ""), ElementsAre());
  EXPECT_EQ(next_command(call.summary, call.waited, ""),
            "kq results mine shows the run; kq leaderboard mine its fastest kernels");
}

TEST(outcomes, a_row_that_another_submission_has_taken_tells_nothing_about_the_job) {
  Call call;
  call.pass("a");
  call.fail("b", "signal 11");
  for (auto& [label, row] : call.rows) {
    row.entry.seq += 2;
    row.job.state = JobState::leased;
    row.result.reset();
  }
  EXPECT_THAT(call.texts(), ElementsAre("a: passed; job 3 of another submission has its row in the run now",
                                        "b: crashed; job 4 of another submission has its row in the run now"));
  Evidence other;
  other.message = "of another job";
  call.rows.at("b").result.emplace().verdict = ended(VerdictName::crashed, other);
  EXPECT_THAT(call.json(), HasSubstr(R"("verdict": "crashed", "message": null, "place": null)"));
}

TEST(outcomes, the_reason_of_json_is_that_of_the_verdict) {
  Call call;
  Evidence evidence;
  evidence.reason = "value";
  call.add("a", ended(VerdictName::wrong_answer, evidence));
  EXPECT_THAT(call.json(), HasSubstr(R"("reason": "value", "verdict": "wrong_answer")"));
}

TEST(outcomes, json_has_messages_and_times) {
  Call call;
  call.pass("a");
  call.fail("b", "signal 11");
  const std::string text = call.json();
  EXPECT_THAT(text,
              HasSubstr(R"("verdict": "passed", "message": null, "place": null, "hint": null, "median_us": 10.0)"));
  EXPECT_THAT(text, HasSubstr(R"("reference_us": 20.0)"));
  EXPECT_THAT(text, HasSubstr(R"("speedup": 2.0)"));
  EXPECT_THAT(text, HasSubstr(R"("verdict": "crashed", "message": "signal 11")"));
}

}  // namespace
}  // namespace kq::producer
