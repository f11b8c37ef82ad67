#include <gtest/gtest.h>

#include "tools/exporters/testing.h"
#include "tools/testing.h"

namespace kq::tools {
namespace {

RunRow tagged(RunRow row, std::string op, std::string args, std::string test = "both") {
  row.entry.submission.tags = {{"op", std::move(op)}, {"args", std::move(args)}, {"test", std::move(test)}};
  return row;
}

std::vector<RunRow> rows() {
  RunRow right = passed_row("a", 1'000'000, 9'000'000);
  return {tagged(right, "add.Tensor", "((T([2], f32), 1), {})"),
          tagged(passed_row("b", 1'000'000, 10'000'000), "mul.Tensor", "x"),
          tagged(ended_row("c", VerdictName::runtime_error, evidence("", "ValueError: no")), "mul.Tensor", "y"),
          tagged(passed_row("d", 1'000'000, 1'500'000), "relu.default", "z", "correctness"), queued_row("e")};
}

class BackendBenchExporter : public ::testing::Test {
 protected:
  void write(bool strict) {
    notes =
        export_rows(*find_exporter("backendbench"), {.out = (folder / "out").string(), .strict = strict}, {}, rows());
  }
  std::string read(const std::string& name) const { return folder.read("out/" + name); }
  const ExportFolder folder;
  std::vector<std::string> notes;
};

TEST_F(BackendBenchExporter, full_results_has_a_record_for_each_test) {
  write(false);
  const std::string text = read("full_results.json");
  EXPECT_TRUE(text.starts_with(R"json([
  {
    "op_name": "add.Tensor",
    "args": "((T([2], f32), 1), {})",
    "is_correct": true,
    "error_msg": "",
    "error_type": "",
    "traceback": "",
    "max_abs_error": )json"))
      << text;
  EXPECT_NE(text.find(R"json(  {
    "op_name": "add.Tensor",
    "args": "((T([2], f32), 1), {})",
    "speedup": 9.0,
    "benchmark_time_ms": 1.0,
    "reference_time_ms": 9.0,
    "error_msg": "",
    "successfully_ran": true,
    "test_type": "performance"
  })json"),
            std::string::npos)
      << text;
  EXPECT_TRUE(text.ends_with("\n]"));
  EXPECT_EQ(notes, std::vector<std::string>{"1 row was left out: the job has not the tags op and test, which kq-submit "
                                            "gives to BackendBench's kernels"});
}

TEST_F(BackendBenchExporter, unknown_errors_are_null_and_infinite_only_in_a_strict_dump) {
  write(false);
  EXPECT_EQ(read("failed_tests.json"), R"json([
  {
    "op_name": "mul.Tensor",
    "args": "y",
    "is_correct": false,
    "error_msg": "runtime_error: ValueError: no",
    "error_type": "runtime_error",
    "traceback": "",
    "max_abs_error": null,
    "max_rel_error": null,
    "test_type": "correctness"
  },
  {
    "op_name": "mul.Tensor",
    "args": "y",
    "speedup": null,
    "benchmark_time_ms": null,
    "reference_time_ms": null,
    "error_msg": "runtime_error: ValueError: no",
    "successfully_ran": false,
    "test_type": "performance"
  }
])json");
  write(true);
  EXPECT_NE(read("failed_tests.json").find("\"max_abs_error\": -Infinity"), std::string::npos);
}

TEST_F(BackendBenchExporter, the_summary_counts_the_tests_of_each_operator) {
  write(false);
  const std::string text = read("operator_summary.csv");
  EXPECT_NE(text.find("\nadd.Tensor,2,1,1,1,1,0,0,1.0,9"), std::string::npos) << text;
  EXPECT_NE(text.find("\nmul.Tensor,4,2,2,1,1,1,1,0.5,10.0,"), std::string::npos) << text;
  EXPECT_NE(text.find("\nrelu.default,1,1,0,1,0,0,0,1.0,,,"), std::string::npos) << text;
  write(true);
  EXPECT_NE(read("operator_summary.csv").find("\nadd.Tensor,3,1,1,"), std::string::npos);
  EXPECT_NE(read("operator_summary.csv").find(",-inf,-inf\n"), std::string::npos);
}

TEST_F(BackendBenchExporter, the_fastest_operator_is_first_and_in_a_strict_dump_the_one_whose_text_is_last) {
  write(false);
  std::string text = read("OVERALL_SUMMARY.md");
  EXPECT_NE(text.find("| Correctness Score | 0.67 |"), std::string::npos) << text;
  EXPECT_LT(text.find("| mul.Tensor | 50.0000% | 10.0000x|"), text.find("| add.Tensor | 100.0000% | 9.0000x|"));
  EXPECT_NE(text.find("| relu.default | 100.0000% | N/A|"), std::string::npos) << text;
  write(true);
  text = read("OVERALL_SUMMARY.md");
  EXPECT_LT(text.find("| add.Tensor | 100.0000% | 9.0000x|"), text.find("| mul.Tensor | 50.0000% | 3.1623x|"));
}

}  // namespace
}  // namespace kq::tools
