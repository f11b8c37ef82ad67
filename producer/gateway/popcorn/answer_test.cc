#include "producer/gateway/popcorn/answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::gateway::popcorn {
namespace {

using producer::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const Submitted kSubmitted{.id = 7'000, .at_ms = 1'764'000'000'000, .board_id = 3, .user = "ada"};

Measurement measurement(double median_ns) {
  Measurement made;
  made.submission = {
      .sample_count = 4, .median_ns = median_ns, .mean_ns = median_ns, .std_ns = 20, .min_ns = 10, .max_ns = 90};
  return made;
}
CaseResult passed(const std::string& name, double median_ns) {
  return {.workload = name,
          .weight = median_ns > 0 ? 1.0 : 0.0,
          .verdict = Passed{measurement(median_ns), {}},
          .samples = {}};
}
Evidence evidence(kq::Stage stage, const std::string& reason, const std::string& message) {
  Evidence made;
  made.stage = stage;
  made.reason = reason;
  made.message = message;
  return made;
}
CaseResult failed(const std::string& name) {
  return {.workload = name, .weight = 0, .verdict = ended(VerdictName::wrong_answer, {}), .samples = {}};
}

RunRow row(const std::string& mode, std::optional<Verdict> verdict = std::nullopt, std::vector<CaseResult> cases = {}) {
  RunRow made;
  made.entry.submission.tags = {{std::string(kBoardTag), "add"},
                                {std::string(kModeTag), mode},
                                {std::string(kGpuTag), "H100"},
                                {std::string(kFileTag), "k.py"},
                                {std::string(kRankingTag), "geom"}};
  made.entry.submission.files = {{"popcorn_entry.py", {}}, {"submission.py", sha256("x")}};
  if (!verdict) return made;
  made.job.state = JobState::finished;
  made.result.emplace();
  made.result->verdict = std::move(*verdict);
  made.result->cases = std::move(cases);
  return made;
}

std::vector<std::string> runs(const RunRow& of) {
  std::vector<std::string> found;
  const Json details = details_json(of, kSubmitted, std::nullopt);
  for (const Json& run : *details.find("runs")->array()) {
    const Json* score = run.find("score");
    found.push_back(*run.find("mode")->text() + (*run.find("passed")->boolean() ? " passed" : " failed") +
                    (score != nullptr ? " " + producer::to_text(*score) : ""));
  }
  return found;
}
std::string status(const RunRow& of) {
  return *details_json(of, kSubmitted, std::nullopt).find("job")->find("status")->text();
}

TEST(PopcornAnswer, a_leaderboard_submission_has_three_runs_and_a_score_in_seconds) {
  const RunRow done =
      row("leaderboard", Passed{measurement(2'000), {}},
          {passed("test.0 (n: 1)", 0), passed("benchmark.0 (n: 2)", 1'000), passed("benchmark.1", 4'000)});
  EXPECT_THAT(runs(done), ElementsAre("test passed", "benchmark passed", "leaderboard passed 2e-06"));
  EXPECT_EQ(status(done), "succeeded");
  RunRow mean = done;
  mean.entry.submission.tags[std::string(kRankingTag)] = "mean";
  EXPECT_THAT(runs(mean).back(), HasSubstr("leaderboard passed 2.5e-06"));
  const Json summary = summary_json(done, kSubmitted);
  EXPECT_EQ(*summary.find("runs")->array()->front().find("score")->floating(), 2e-6);
  EXPECT_EQ(*summary.find("id")->integer(), 7'000);
}

TEST(PopcornAnswer, the_runs_end_with_the_first_that_failed) {
  const Verdict wrong = ended(VerdictName::wrong_answer, evidence(kq::Stage::judge, "value", "workload test.0: off"));
  EXPECT_THAT(runs(row("leaderboard", wrong, {failed("test.0 (n: 1)")})), ElementsAre("test failed"));
  EXPECT_THAT(runs(row("leaderboard", wrong, {passed("test.0", 0), failed("benchmark.0")})),
              ElementsAre("test passed", "benchmark failed"));
  EXPECT_THAT(runs(row("benchmark", wrong, {failed("benchmark.0")})), ElementsAre("benchmark failed"));
  EXPECT_THAT(runs(row("leaderboard", ended(VerdictName::build_failed, {}))), ElementsAre("test failed"));
  EXPECT_THAT(runs(row("test")), ElementsAre());
}

TEST(PopcornAnswer, states_have_the_words_that_clients_look_for) {
  EXPECT_EQ(status(row("test")), "pending");
  RunRow running = row("test");
  running.job.state = JobState::leased;
  EXPECT_EQ(status(running), "running");
  EXPECT_EQ(status(row("test", ended(VerdictName::rejected, {}))), "hacked");
  EXPECT_EQ(status(row("test", ended(VerdictName::timed_out, {}))), "timed_out");
  EXPECT_EQ(status(row("test", ended(VerdictName::wrong_answer, {}))), "failed");
}

TEST(PopcornAnswer, a_rejection_says_rule_and_place) {
  Evidence found = evidence(kq::Stage::guard, "stream", "creates a CUDA stream: torch.cuda.Stream");
  found.rule = "cuda_stream_create";
  found.place = "submission.py:6";
  const RunRow rejected = row("test", ended(VerdictName::rejected, found));
  const std::string sentence =
      "rejected by the rule cuda_stream_create: creates a CUDA stream: torch.cuda.Stream (submission.py:6)";
  EXPECT_EQ(failure_of(*rejected.result), sentence);
  EXPECT_EQ(*details_json(rejected, kSubmitted, std::nullopt).find("job")->find("error")->text(), sentence);
}

TEST(PopcornAnswer, the_report_has_the_lines_that_scripts_look_for) {
  const RunRow done = row("leaderboard", Passed{measurement(2'000), {}},
                          {passed("test.0 (n: 1)", 0), passed("benchmark.0 (n: 2)", 4'000)});
  const std::string report = report_of(done);
  EXPECT_THAT(report, HasSubstr("✅ Testing successful\n✅ Benchmarking successful\n✅ Leaderboard run successful\n"));
  EXPECT_THAT(report, HasSubstr("✅ n: 1\n"));
  EXPECT_THAT(report, HasSubstr("n: 2\n ⏱ 4.00 ± 0.010 µs\n ⚡ 10.0 ns 🐌 90.0 ns\n"));
  EXPECT_THAT(report, HasSubstr("## Ranked Benchmark\n"));
  const Verdict wrong = ended(VerdictName::wrong_answer, evidence(kq::Stage::judge, "value", "off"));
  const std::string bad = report_of(row("test", wrong, {failed("test.0 (n: 1)")}));
  EXPECT_THAT(bad, HasSubstr("❌ Testing failed\n> wrong answer: off\n"));
  EXPECT_THAT(bad, Not(HasSubstr("successful")));
}

TEST(PopcornAnswer, the_full_result_is_a_flat_map_of_texts) {
  const Json result = result_json(row("benchmark", Passed{measurement(3'000), {}}));
  const Json* run = result.find("results")->array()->front().find("runs")->find("benchmark")->find("run");
  EXPECT_TRUE(*run->find("success")->boolean() && *run->find("passed")->boolean());
  EXPECT_EQ(*run->find("exit_code")->integer(), 0);
  EXPECT_EQ(*run->find("result")->find("benchmark-count")->text(), "1");
  EXPECT_EQ(*run->find("result")->find("benchmark.0.mean")->text(), "3000.0");
  EXPECT_EQ(*run->find("result")->find("check")->text(), "pass");
}

TEST(PopcornAnswer, a_profile_is_counted_by_a_number_and_travels_as_base64) {
  RunRow done = row("profile", Passed{measurement(3'000), {}});
  done.result->profile = Profile{.tool = "ncu", .message = "ab"};
  const Json result = result_json(done);
  const Json* profile = result.find("results")->array()->front().find("runs")->find("profile.0");
  EXPECT_EQ(*profile->find("profile")->find("profiler")->text(), "ncu");
  EXPECT_EQ(*profile->find("run")->find("result")->find("benchmark-count")->integer(), 1);
  EXPECT_EQ(*profile->find("run")->find("result")->find("benchmark.0.report")->text(), "YWIK");
}

TEST(PopcornAnswer, times_are_shown_with_the_fitting_unit) {
  EXPECT_EQ(time_words(500), "500 ns");
  EXPECT_EQ(time_words(2'345, 12), "2.35 ± 0.012 µs");
  EXPECT_EQ(time_words(23'450), "23.4 µs");
  EXPECT_EQ(time_words(234'500'000, 1e6), "234 ± 1.0 ms");
}

}  // namespace
}  // namespace kq::gateway::popcorn
