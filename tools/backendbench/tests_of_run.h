// A run of BackendBench's kernels as its own tools report it: a record for each test of an operator, and the scores.
//
// A row with the tags op, args and test stands for a correctness test, a performance test or both of one call. A row
// counts as no test where its verdict does not judge the kernel: the reference fails, or the job was cancelled.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/records.h"

namespace kq::tools::backendbench {

inline constexpr std::size_t kTestsMax = 1'000'000;
// The text of every test of a kernel that uses a stream.
inline constexpr std::string_view kUsesStream = "Skipped: uses CUDA stream";

struct CorrectnessTest {
  bool is_correct = false;
  std::string error_type, error;  // of a test that is not correct
  std::optional<double> max_abs_error, max_rel_error;
};
struct PerformanceTest {
  bool is_successful = false;
  double speedup = 0;  // of a successful test
  double time_ms = 0, reference_time_ms = 0;
  std::string error;
  bool uses_stream = false;
};
struct CallTests {
  std::uint64_t seq = 0;  // the number of the job; of several jobs for one call the newest counts
  std::optional<CorrectnessTest> correctness;
  std::optional<PerformanceTest> performance;
};

// How scores are computed. A strict score is BackendBench's: a failed performance test counts as a speedup of exactly
// 1, an operator without correctness tests as right, and an operator without performance tests makes the performance
// score NaN. Otherwise only successful tests have a speedup, and a score is the mean over the operators that have tests
// of its kind.
struct Scoring {
  bool strict = false;
  double p = 1;  // the threshold of perf@p
};

struct OperatorScore {
  std::size_t correctness_tests = 0, performance_tests = 0, passed_correctness = 0, passed_performance = 0;
  double correctness_ratio = 0;                         // of passed correctness tests
  std::optional<double> speedup;                        // geometric mean by the scoring
  std::optional<double> mean_speedup, geomean_speedup;  // of successful tests
  std::optional<double> max_abs_error, max_rel_error;
};
struct Scores {
  std::optional<double> correctness, performance, perf_at_p;  // no value where no operator counts
};

class TestsOfRun {
 public:
  enum class Added { test, newer_test, older_test, no_tags, no_result };
  // Fails with bad input beyond kTestsMax tests.
  Expected<Added> add(const RunRow& row);

  // The tests by operator and arguments, in this order.
  const std::map<std::pair<std::string, std::string>, CallTests>& tests() const { return tests_; }
  std::map<std::string, OperatorScore> operators(const Scoring& scoring) const;

 private:
  std::map<std::pair<std::string, std::string>, CallTests> tests_;
};

Scores scores_of(const std::map<std::string, OperatorScore>& operators, const Scoring& scoring);

}  // namespace kq::tools::backendbench
