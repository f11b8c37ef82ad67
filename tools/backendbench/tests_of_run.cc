#include "tools/backendbench/tests_of_run.h"

#include <cmath>
#include <limits>

#include "core/measurement.h"
#include "tools/kernelbench/outcome.h"

namespace kq::tools::backendbench {
namespace {

std::string tag(const Submission& submission, const std::string& name) {
  const auto found = submission.tags.find(name);
  return found == submission.tags.end() ? std::string() : found->second;
}

// Returns the text of the arguments, which may lie in several tags.
std::string arguments_of(const Submission& submission) {
  std::string text = tag(submission, "args");
  for (int i = 1;; ++i) {
    const std::string more = tag(submission, "args_" + std::to_string(i));
    if (more.empty()) return text;
    text += more;
  }
}

bool uses_stream(const Verdict& verdict) {
  const Evidence* const evidence = evidence_of(verdict);
  return name_of(verdict) == VerdictName::rejected && evidence != nullptr && evidence->reason == "stream";
}

std::string error_of(const Verdict& verdict) {
  if (uses_stream(verdict)) return std::string(kUsesStream);
  const Evidence* const evidence = evidence_of(verdict);
  const std::string name(to_string(name_of(verdict)));
  return evidence == nullptr || evidence->message.empty() ? name : name + ": " + evidence->message;
}

CorrectnessTest correctness_test_of(const Verdict& verdict) {
  CorrectnessTest test;
  const Evidence* const evidence = evidence_of(verdict);
  if (const Correctness* const right = correctness_of(verdict)) {
    test.is_correct = true;
    test.max_abs_error = right->max_abs_err;
    test.max_rel_error = right->max_rel_err;
    return test;
  }
  test.error = error_of(verdict);
  test.error_type = to_string(name_of(verdict));
  if (evidence != nullptr && evidence->mismatch && evidence->mismatch->got_form.empty()) {
    test.max_abs_error = evidence->mismatch->max_abs_err;
    test.max_rel_error = evidence->mismatch->max_rel_err;
  }
  return test;
}

PerformanceTest performance_test_of(const Verdict& verdict) {
  constexpr double kNsPerMs = 1e6;
  PerformanceTest test;
  const auto* const passed = std::get_if<Passed>(&verdict);
  if (passed == nullptr) {
    test.error = error_of(verdict);
    test.uses_stream = uses_stream(verdict);
    return test;
  }
  test.is_successful = true;
  test.speedup = speedup(passed->measurement);
  test.time_ms = passed->measurement.submission.median_ns / kNsPerMs;
  test.reference_time_ms = passed->measurement.reference.median_ns / kNsPerMs;
  return test;
}

std::optional<double> geometric_mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

std::optional<double> mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

void take_larger(std::optional<double>& largest, std::optional<double> value) {
  if (value && (!largest || *value > *largest)) largest = value;
}

// BackendBench counts only tests that have errors other than 0, and takes an error that is not known as -infinity.
void add_errors(const CorrectnessTest& test, bool strict, OperatorScore& score) {
  constexpr double kUnknown = -std::numeric_limits<double>::infinity();
  const auto value_of = [&](std::optional<double> error) { return strict ? error.value_or(kUnknown) : error; };
  const auto abs = value_of(test.max_abs_error), rel = value_of(test.max_rel_error);
  if (strict && (*abs == 0 || *rel == 0)) return;
  take_larger(score.max_abs_error, abs);
  take_larger(score.max_rel_error, rel);
}

}  // namespace

Expected<TestsOfRun::Added> TestsOfRun::add(const RunRow& row) {
  const Submission& submission = row.entry.submission;
  const std::string op = tag(submission, "op"), kind = tag(submission, "test");
  if (op.empty() || (kind != "both" && kind != "correctness" && kind != "performance")) return Added::no_tags;
  if (!is_kernelbench_result(row)) return Added::no_result;
  const auto [entry, is_new] = tests_.try_emplace({op, arguments_of(submission)});
  if (tests_.size() > kTestsMax)
    return bad_input("the run has more than " + std::to_string(kTestsMax) +
                     " tests, which BackendBench's files cannot hold");
  CallTests& test = entry->second;
  if (!is_new && row.job.seq < test.seq) return Added::older_test;
  test = {.seq = row.job.seq, .correctness = {}, .performance = {}};
  if (kind != "performance") test.correctness = correctness_test_of(row.result->verdict);
  if (kind != "correctness") test.performance = performance_test_of(row.result->verdict);
  return is_new ? Added::test : Added::newer_test;
}

std::map<std::string, OperatorScore> TestsOfRun::operators(const Scoring& scoring) const {
  std::map<std::string, OperatorScore> operators;
  std::map<std::string, std::vector<double>> speedups, successful;
  for (const auto& [call, test] : tests_) {
    OperatorScore& score = operators[call.first];
    if (test.correctness) {
      ++score.correctness_tests;
      score.passed_correctness += test.correctness->is_correct ? 1 : 0;
      add_errors(*test.correctness, scoring.strict, score);
    }
    if (!test.performance) continue;
    ++score.performance_tests;
    if (test.performance->is_successful) {
      ++score.passed_performance;
      successful[call.first].push_back(test.performance->speedup);
      speedups[call.first].push_back(test.performance->speedup);
    } else if (scoring.strict) {
      speedups[call.first].push_back(1);
    }
  }
  for (auto& [op, score] : operators) {
    score.correctness_ratio = score.correctness_tests == 0 ? 1
                                                           : static_cast<double>(score.passed_correctness) /
                                                                 static_cast<double>(score.correctness_tests);
    score.speedup = geometric_mean(speedups[op]);
    score.mean_speedup = mean(successful[op]);
    score.geomean_speedup = geometric_mean(successful[op]);
  }
  return operators;
}

Scores scores_of(const std::map<std::string, OperatorScore>& operators, const Scoring& scoring) {
  std::vector<double> right, speedups, above;
  for (const auto& [op, score] : operators) {
    const bool is_right = score.passed_correctness == score.correctness_tests &&
                          (scoring.strict || score.passed_performance == score.performance_tests);
    if (scoring.strict || score.correctness_tests > 0) right.push_back(is_right ? 1 : 0);
    if (score.speedup || scoring.strict)
      speedups.push_back(score.speedup.value_or(std::numeric_limits<double>::quiet_NaN()));
    if (scoring.strict || score.performance_tests > 0)
      above.push_back(is_right && score.speedup && *score.speedup > scoring.p ? 1 : 0);
  }
  return {.correctness = mean(right), .performance = geometric_mean(speedups), .perf_at_p = mean(above)};
}

}  // namespace kq::tools::backendbench
