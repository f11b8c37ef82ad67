// Writes a run of BackendBench's kernels as the folder of files that BackendBench's own tools read:
//
//   full_results.json      a record for each correctness and performance test, by operator and arguments
//   failed_tests.json      the records of the tests that failed
//   operator_summary.csv   a line for each operator
//   OVERALL_SUMMARY.md     the scores, and the operators from the fastest to the slowest
//
// Times are in milliseconds. A strict dump repeats BackendBench's numbers: see Scoring in
// tools/backendbench/tests_of_run.h, and here -Infinity in place of null for unknown errors, the number of operators as
// every operator's total_tests, and operators sorted by the text of their speedup.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "producer/client/json.h"
#include "tools/backendbench/tests_of_run.h"
#include "tools/cli/output_file.h"
#include "tools/cli/text.h"
#include "tools/exporters/exporter.h"
#include "tools/table/csv.h"

namespace kq::tools {
namespace {

namespace fs = std::filesystem;
using namespace backendbench;

// Returns a number as Python writes it.
std::string number(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  std::string text;
  producer::append_json(value, text);
  return text;
}

std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

// A record as its members, each with the text of its JSON value.
using Members = std::vector<std::pair<std::string_view, std::string>>;

std::string record_text(const Members& members) {
  std::string text = "  {";
  for (const auto& [name, value] : members)
    text += (text.back() == '{' ? "\n    \"" : ",\n    \"") + std::string(name) + "\": " + value;
  return text + "\n  }";
}

class BackendBenchExport final : public Export {
 public:
  BackendBenchExport(const ExportOptions& options, const Selection& selection, bool created_folder)
      : folder_(options.out),
        scoring_{.strict = options.strict, .p = options.perf_p},
        selection_(selection),
        created_folder_(created_folder) {}
  ~BackendBenchExport() override {
    std::error_code is_in_use;  // a folder with files is not removed
    if (created_folder_) fs::remove(folder_, is_in_use);
  }

  Expected<void> add(const RunRow& row) override {
    if (!selection_.matches(row)) return {};
    run_ = row.run;
    KQ_TRY_VALUE(const auto added, tests_.add(row));
    if (added == TestsOfRun::Added::no_tags) {
      ++no_tags_count_;
      return {};
    }
    if (added == TestsOfRun::Added::no_result) {
      ++no_result_count_;
      return {};
    }
    ++row_count_;
    if (added == TestsOfRun::Added::older_test || added == TestsOfRun::Added::newer_test) ++older_count_;
    return {};
  }

  Expected<void> finish() override {
    if (row_count_ == 0) return {};
    const auto operators = tests_.operators(scoring_);
    KQ_TRY(write_records("full_results.json", false));
    KQ_TRY(write_records("failed_tests.json", true));
    KQ_TRY(write("operator_summary.csv", summary(operators)));
    return write("OVERALL_SUMMARY.md", report(operators));
  }

  std::uint64_t row_count() const override { return row_count_; }

  std::vector<std::string> notes() const override {
    std::vector<std::string> notes;
    const auto note = [&](std::uint64_t n, const std::string& why) {
      if (n > 0) notes.push_back(std::to_string(n) + (n == 1 ? " row was" : " rows were") + " left out: " + why);
    };
    note(no_result_count_,
         "the job is not finished, or its verdict says nothing about the kernel (problem_invalid, cancelled, ...)");
    note(no_tags_count_, "the job has not the tags op and test, which kq-submit gives to BackendBench's kernels");
    note(older_count_, "a newer row of the run has the same call");
    return notes;
  }

 private:
  Expected<void> write(const char* name, const std::string& text) const {
    std::error_code wrong;
    fs::create_directories(folder_, wrong);
    if (wrong) return bad_input("cannot create the folder " + folder_.string() + ": " + wrong.message());
    KQ_TRY_VALUE(auto file, OutputFile::open((folder_ / name).string()));
    KQ_TRY(file.write(text));
    return file.commit();
  }

  std::string error_number(std::optional<double> value) const {
    if (value && std::isfinite(*value)) return number(*value);
    if (!scoring_.strict) return "null";  // JSON has no other numbers
    return !value || *value < 0 ? "-Infinity" : std::isnan(*value) ? "NaN" : "Infinity";
  }

  std::string correctness_record(const std::string& op, const std::string& args, const CorrectnessTest& test) const {
    return record_text({{"op_name", producer::json_quoted(op)},
                        {"args", producer::json_quoted(args)},
                        {"is_correct", test.is_correct ? "true" : "false"},
                        {"error_msg", producer::json_quoted(test.error)},
                        {"error_type", producer::json_quoted(test.error_type)},
                        {"traceback", "\"\""},
                        {"max_abs_error", error_number(test.max_abs_error)},
                        {"max_rel_error", error_number(test.max_rel_error)},
                        {"test_type", "\"correctness\""}});
  }

  static std::string performance_record(const std::string& op, const std::string& args, const PerformanceTest& test) {
    const auto of_success = [&](double value) { return test.is_successful ? number(value) : std::string("null"); };
    return record_text({{"op_name", producer::json_quoted(op)},
                        {"args", producer::json_quoted(args)},
                        {"speedup", test.uses_stream ? "0.0" : of_success(test.speedup)},
                        {"benchmark_time_ms", test.uses_stream ? "0.0" : of_success(test.time_ms)},
                        {"reference_time_ms", test.uses_stream ? "0.0" : of_success(test.reference_time_ms)},
                        {"error_msg", producer::json_quoted(test.error)},
                        {"successfully_ran", test.is_successful ? "true" : "false"},
                        {"test_type", "\"performance\""}});
  }

  Expected<void> write_records(const char* name, bool only_failed) const {
    std::string text = "[";
    const auto put = [&](const std::string& record) { text += (text == "[" ? "\n" : ",\n") + record; };
    for (const auto& [call, test] : tests_.tests()) {
      if (test.correctness && !(only_failed && test.correctness->is_correct))
        put(correctness_record(call.first, call.second, *test.correctness));
      if (test.performance && !(only_failed && test.performance->is_successful))
        put(performance_record(call.first, call.second, *test.performance));
    }
    return write(name, text + (text == "[" ? "]" : "\n]"));
  }

  std::string summary(const std::map<std::string, OperatorScore>& operators) const {
    std::string text =
        "operator,total_tests,correctness_tests,performance_tests,passed_correctness_tests,passed_performance_tests,"
        "failed_correctness_tests,failed_performance_tests,correctness_rate,avg_speedup,geomean_speedup,"
        "max_absolute_error,max_relative_error\n";
    const auto known = [&](std::optional<double> value) {
      return value ? number(*value) : std::string(scoring_.strict ? "0.0" : "");
    };
    for (const auto& [op, score] : operators) {
      const std::size_t total = scoring_.strict ? operators.size() : score.correctness_tests + score.performance_tests;
      text += op;
      for (const std::size_t count :
           {total, score.correctness_tests, score.performance_tests, score.passed_correctness, score.passed_performance,
            score.correctness_tests - score.passed_correctness, score.performance_tests - score.passed_performance})
        text += "," + std::to_string(count);
      const bool has_ratio = score.correctness_tests > 0;
      text += "," + (has_ratio ? number(score.correctness_ratio) : known({})) + "," + known(score.mean_speedup) + "," +
              known(score.geomean_speedup) + "," + known(score.max_abs_error) + "," + known(score.max_rel_error) + "\n";
    }
    return text;
  }

  std::string report(const std::map<std::string, OperatorScore>& operators) const {
    const Scores scores = scores_of(operators, scoring_);
    const std::string p = fixed(scoring_.p, 1);
    const auto score = [](std::optional<double> value) { return value ? fixed(*value, 2) : std::string("nan"); };
    std::string text = "# BackendBench Run Summary\n\n## Command\n```bash\nkq-dump --run " + run_ +
                       " --format backendbench --out " + folder_.string() + " --p " + p +
                       (scoring_.strict ? " --strict" : "") +
                       "\n```\n\n## Results\n\n| Metric | Value |\n|--------|-------|\n| Correctness Score | " +
                       score(scores.correctness) + " |\n| Performance Score (geomean speedup) | " +
                       score(scores.performance) + " |\n| Perf@" + p + " Score | " + score(scores.perf_at_p) +
                       " |\n\n### Metric Descriptions\n\n"
                       "- **Correctness Score**: the share of operators all of whose tests passed\n"
                       "- **Performance Score**: the geometric mean of the operators' speedups over the reference\n"
                       "- **Perf@" +
                       p + " Score**: the share of operators that are right and have a speedup above " + p +
                       "\n\n## Output Files\n\n"
                       "- `full_results.json`: a record for each test\n"
                       "- `failed_tests.json`: the records of failed tests\n"
                       "- `operator_summary.csv`: a line for each operator\n"
                       "- `OVERALL_SUMMARY.md`: this file\n\n"
                       "### Operator Speedups vs Eager in Descending Order\n\n"
                       "| Operator | Correctness Ratio | Speedup vs Eager |\n"
                       "|----------|-----------|----------------|\n";
    std::vector<std::pair<std::string, OperatorScore>> rows(operators.begin(), operators.end());
    std::ranges::stable_sort(rows, [&](const auto& a, const auto& b) {
      if (scoring_.strict) return texts_of(a.second) > texts_of(b.second);
      return a.second.speedup.value_or(-1) > b.second.speedup.value_or(-1);
    });
    for (const auto& [op, of_op] : rows) {
      const auto [speedup, ratio] = texts_of(of_op);
      text += "| " + op + " | " + ratio + " | " + speedup + "|\n";
    }
    return text;
  }

  static std::pair<std::string, std::string> texts_of(const OperatorScore& score) {
    constexpr double kPercent = 100;
    return {score.speedup ? fixed(*score.speedup, 4) + "x" : "N/A",
            score.correctness_tests > 0 ? fixed(score.correctness_ratio * kPercent, 4) + "%" : "N/A"};
  }

  const fs::path folder_;
  const Scoring scoring_;
  const Selection& selection_;
  const bool created_folder_;
  TestsOfRun tests_;
  std::string run_;
  std::uint64_t row_count_ = 0, no_tags_count_ = 0, no_result_count_ = 0, older_count_ = 0;
};

}  // namespace

Expected<std::unique_ptr<Export>> open_backendbench(const ExportOptions& options, const Selection& selection) {
  std::error_code wrong;
  const bool is_new = !fs::exists(options.out, wrong);
  fs::create_directories(options.out, wrong);
  if (wrong) return bad_input("cannot create the folder " + options.out + ": " + wrong.message());
  return std::make_unique<BackendBenchExport>(options, selection, is_new);
}

}  // namespace kq::tools
