#include "tools/problem/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

using Rows = std::map<Probe, RunRow>;

RunRow wrong_row(const Evidence& why = evidence("value", "output 0: 3 of 4 elements differ")) {
  return finished_row("p/x", ended(VerdictName::wrong_answer, why));
}
RunRow right_row(double max_abs_err = 0) {
  Passed passed;
  passed.correctness.max_abs_err = max_abs_err;
  return finished_row("p/x", passed);
}
Verdict suspect(const Evidence& why) {
  return Suspect{{}, {}, why};
}
RunRow invalid_row(const std::string& reason, const std::string& message) {
  return finished_row("p/x", ended(VerdictName::problem_invalid, evidence(reason, message)));
}

// The rows of a problem with which nothing is wrong.
Rows good_rows() {
  RunRow stateless = right_row();
  stateless.result->log = "hello\nkq-problem-bytes 2048 4096 0\nkq-problem-bytes 1024 8192 16\nkq-problem-bytes x\n";
  RunRow zeros = wrong_row();
  Evidence why = evidence("value");
  why.truth = TruthErrors{.kind = "float64 on the device", .reference_max = 0.5, .reference_rms = 1e-7};
  zeros.result->verdict = ended(VerdictName::wrong_answer, why);
  return {{Probe::reference, passed_row("p/reference", 1'000, 1'100)},
          {Probe::zeros, zeros},
          {Probe::constant, wrong_row()},
          {Probe::first_input, wrong_row()},
          {Probe::stateless, stateless}};
}

std::string text_of(const Rows& rows) {
  return problem_text(report_of_rows("p.py", rows));
}

TEST(problem_report, says_what_was_looked_at) {
  const ProblemReport report = report_of_rows("p.py", good_rows());
  EXPECT_EQ(problem_text(report),
            "p.py: ok on Test CPU\n"
            "  ok       the reference passes against itself\n"
            "  ok       the inputs vary from call to call, and so do the outputs\n"
            "  ok       a kernel that returns zeros is wrong\n"
            "  ok       a kernel that returns its first outputs again and again is wrong\n"
            "  ok       a kernel that returns its first input is wrong\n"
            "  ok       the reference keeps no state between calls\n"
            "  ok       the reference has an error of at most 0.5, relative RMS 1e-07, against float64 on the device\n"
            "  ok       the inputs have 2.00 KiB, the outputs 8.00 KiB, parameters and buffers 16 B\n"
            "  ok       workload default takes 1.00 us, the samples from - to -; the speedup of the reference against "
            "itself is 1.10x\n");
  EXPECT_EQ(exit_code_of({report}), ExitCode::ok);
}

TEST(problem_report, a_kernel_that_computes_nothing_must_not_pass) {
  for (const Probe probe : {Probe::zeros, Probe::constant}) {
    Rows rows = good_rows();
    rows[probe] = right_row();
    EXPECT_THAT(text_of(rows), HasSubstr("wrong    a kernel that returns "));
    EXPECT_THAT(text_of(rows), HasSubstr(probe == Probe::zeros ? " passes: the tolerance is too wide for outputs this "
                                                                 "small"
                                                               : " passes: the outputs vary too little"));
    EXPECT_EQ(exit_code_of({report_of_rows("p.py", rows)}), ExitCode::job_failed);
  }
}

TEST(problem_report, a_kernel_that_is_suspect_had_right_outputs) {
  Rows rows = good_rows();
  rows[Probe::zeros].result->verdict = suspect(evidence("value"));
  EXPECT_THAT(text_of(rows), HasSubstr("wrong    a kernel that returns zeros passes"));
}

TEST(problem_report, the_first_input_may_be_right_where_it_equals_the_output) {
  Rows rows = good_rows();
  rows[Probe::first_input] = right_row();
  EXPECT_THAT(text_of(rows), HasSubstr("ok       a kernel that returns its first input passes, because the outputs"));
  rows[Probe::first_input] = right_row(1e-6);
  EXPECT_THAT(text_of(rows), HasSubstr("warning  a kernel that returns its first input passes, although its outputs "
                                       "differ by up to 1e-06"));
  rows[Probe::first_input] =
      finished_row("p/x", ended(VerdictName::runtime_error, evidence("", "RuntimeError: " + std::string(kOtherForm))));
  EXPECT_THAT(text_of(rows), HasSubstr("ok       the first input has another form than the outputs"));
  EXPECT_EQ(exit_code_of({report_of_rows("p.py", rows)}), ExitCode::ok);
}

TEST(problem_report, an_invalid_problem_is_wrong_and_nothing_else_is_said) {
  const auto wrong = [](const std::string& reason, const std::string& message) {
    Rows rows = good_rows();
    rows[Probe::constant] = invalid_row(reason, message);  // another probe may see what the reference did not
    return text_of(rows);
  };
  EXPECT_EQ(wrong("constant", "x"),
            "p.py: wrong on Test CPU\n"
            "  wrong    the outputs never vary, so a kernel that returns a constant would pass\n");
  EXPECT_EQ(wrong("nondeterministic", "the reference disagrees with itself: output 0 differs"),
            "p.py: wrong on Test CPU\n"
            "  wrong    the reference disagrees with itself: output 0 differs, so it is not deterministic or keeps "
            "state between calls\n");
  EXPECT_EQ(wrong("state", "x"), wrong("nondeterministic", "x"));
  EXPECT_EQ(wrong("", "the reference: ValueError: no"),
            "p.py: wrong on Test CPU\n"
            "  wrong    the problem is invalid: the reference: ValueError: no\n");
}

TEST(problem_report, the_reference_must_pass_against_itself) {
  Rows rows = good_rows();
  rows[Probe::reference] = wrong_row();
  EXPECT_THAT(text_of(rows), HasSubstr("wrong    the reference fails against itself: wrong_answer (value): output 0"));
  rows[Probe::reference] = finished_row("p/x", suspect(evidence("inputs", "the same inputs")));
  EXPECT_THAT(text_of(rows), HasSubstr("wrong    the inputs never vary, so a kernel that returns outputs"));
  rows[Probe::reference] = finished_row("p/x", suspect(evidence("floor", "too fast")));
  EXPECT_THAT(text_of(rows), HasSubstr("warning  the reference is suspect (floor): too fast"));
}

TEST(problem_report, a_reference_that_cannot_run_here_is_unknown) {
  Rows rows = good_rows();
  rows[Probe::reference] = finished_row("p/x", ended(VerdictName::too_large, evidence("", "needs 90 GiB")));
  EXPECT_EQ(text_of(rows),
            "p.py: unknown on Test CPU\n"
            "  unknown  the reference could not be run here: too_large: needs 90 GiB\n");
  EXPECT_EQ(exit_code_of({report_of_rows("p.py", rows)}), ExitCode::our_fault);
  EXPECT_EQ(report_of_rows("p.py", {}).level(), FindingLevel::unknown);
}

TEST(problem_report, a_probe_that_cannot_be_tried_is_a_warning) {
  Rows rows = good_rows();
  rows[Probe::zeros] = finished_row("p/x", ended(VerdictName::rejected, evidence("policy", "no streams")));
  rows.erase(Probe::stateless);
  EXPECT_THAT(text_of(rows), HasSubstr("warning  a kernel that returns zeros could not be tried: rejected (policy): no "
                                       "streams"));
  EXPECT_THAT(text_of(rows), HasSubstr("warning  a copy of the reference for every call could not be tried: there is"));
  EXPECT_THAT(text_of(rows), Not(HasSubstr("the inputs have")));
}

TEST(problem_report, state_between_calls_is_wrong) {
  Rows rows = good_rows();
  rows[Probe::stateless] = wrong_row();
  EXPECT_THAT(text_of(rows), HasSubstr("wrong    the reference keeps state between calls, so a kernel without that"));
}

TEST(problem_report, workloads_have_a_time_each) {
  Rows rows = good_rows();
  const auto timed = [](double reference_ns) {
    Passed passed = std::get<Passed>(passed_row("p/x", 1'000, reference_ns).result->verdict);
    passed.measurement.submission.min_ns = 900;
    passed.measurement.submission.p95_ns = 1'300;
    return passed;
  };
  rows[Probe::reference].result->cases = {{.workload = "small", .verdict = timed(1'000), .samples = {}},
                                          {.workload = "large", .verdict = timed(2'000), .samples = {}}};
  rows[Probe::zeros].result->cases = {
      {.workload = "small", .verdict = Passed{}, .samples = {}},
      {.workload = "large", .verdict = ended(VerdictName::wrong_answer, {}), .samples = {}}};
  const std::string text = text_of(rows);
  EXPECT_THAT(text, HasSubstr("ok       workload small takes 1.00 us, 95 % of the samples from 0.90 us to 1.30 us; the "
                              "speedup of the reference against itself is 1.00x\n"));
  EXPECT_THAT(text, HasSubstr("ok       workload large takes 1.00 us"));
  EXPECT_THAT(text, HasSubstr("is 2.00x, and other speedups are as uncertain here"));
  EXPECT_THAT(text, HasSubstr("warning  a kernel that returns zeros is wrong, but right in workload small"));
  rows[Probe::reference].result->device.kind = DeviceKind::cuda;
  EXPECT_THAT(text_of(rows), HasSubstr("warning  workload large takes 1.00 us"));
}

TEST(problem_report, a_file_that_is_no_problem_is_wrong) {
  EXPECT_EQ(problem_text(report_of_mistake({.file = "a.py", .mistake = "class Model is missing"})),
            "a.py: wrong\n  wrong    class Model is missing\n");
}

TEST(problem_report, json_has_the_findings_and_the_times) {
  const producer::Json json = problem_json(report_of_rows("p.py", good_rows()), "problem-check-1");
  EXPECT_EQ(*json.find("file")->text(), "p.py");
  EXPECT_EQ(*json.find("level")->text(), "ok");
  EXPECT_EQ(*json.find("run")->text(), "problem-check-1");
  EXPECT_EQ(*json.find("findings")->array()->front().find("name")->text(), "reference");
  EXPECT_EQ(*json.find("workloads")->array()->front().find("median_us")->floating(), 1);
  EXPECT_THAT(report_of_rows("p.py", {}).times, IsEmpty());
}

}  // namespace
}  // namespace kq::tools
