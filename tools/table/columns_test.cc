#include "tools/table/columns.h"

#include <gtest/gtest.h>

#include <set>

#include "tools/table/testing.h"
#include "tools/testing.h"

namespace kq::tools {
namespace {

Cell cell(const RunRow& row, std::string_view name) {
  for (const Column& column : columns()) {
    if (column.name == name) return column.get(row);
  }
  ADD_FAILURE() << "no column " << name;
  return {};
}

TEST(columns, names_are_unique_and_documented) {
  std::set<std::string_view> names;
  for (const Column& column : columns()) {
    EXPECT_TRUE(names.insert(column.name).second) << column.name;
    EXPECT_NE(column.doc, "") << column.name;
  }
}

TEST(columns, a_name_ends_with_its_unit) {
  for (const Column& column : columns()) {
    if (column.unit.empty()) continue;
    EXPECT_TRUE(column.name.ends_with("_" + std::string(column.unit))) << column.name;
  }
}

TEST(columns, a_passed_row_has_its_figures_in_the_unit_of_the_name) {
  const RunRow row = passed_row("relu/fast", 12'500, 25'000);
  EXPECT_EQ(cell(row, "label"), text("relu/fast"));
  EXPECT_EQ(cell(row, "verdict"), text("passed"));
  EXPECT_EQ(cell(row, "fault"), text("none"));
  EXPECT_EQ(cell(row, "median_us"), number(12.5));
  EXPECT_EQ(cell(row, "reference_us"), number(25));
  EXPECT_EQ(cell(row, "speedup"), number(2));
  EXPECT_EQ(cell(row, "reason"), kUnknown);
  EXPECT_EQ(cell(row, "device"), text("cpu"));
}

TEST(columns, every_row_has_the_warnings_about_its_problem) {
  RunRow row = passed_row("relu/fast", 12'500, 25'000);
  EXPECT_EQ(cell(row, "problem_warnings"), kUnknown);
  row.result->problem_warnings = {{"zeros", "zeros pass"}, {"inputs", "the inputs never vary"}};
  EXPECT_EQ(cell(row, "problem_warnings"), text("zeros pass; the inputs never vary"));
  Evidence same_inputs = evidence(std::string(kSameInputs), "the same inputs");
  row.result->verdict = Suspect{{}, {}, same_inputs};
  EXPECT_EQ(cell(row, "fault"), text("problem"));
}

TEST(columns, a_failed_row_has_evidence_and_no_figures) {
  Evidence differs = evidence("value", "differs");
  differs.stage = Stage::judge;
  differs.mismatch = Mismatch{.element = 7, .max_abs_err = 0.5, .mismatched = 3, .total = 9};
  const RunRow row = ended_row("relu/wrong", VerdictName::wrong_answer, differs);
  EXPECT_EQ(cell(row, "verdict"), text("wrong_answer"));
  EXPECT_EQ(cell(row, "fault"), text("user"));
  EXPECT_EQ(cell(row, "stage"), text("judge"));
  EXPECT_EQ(cell(row, "reason"), text("value"));
  EXPECT_EQ(cell(row, "message"), text("differs"));
  EXPECT_EQ(cell(row, "max_abs_err"), number(0.5));
  EXPECT_EQ(cell(row, "mismatch_n"), count(3));
  EXPECT_EQ(cell(row, "mismatch_element"), count(7));
  for (const char* figure : {"median_us", "reference_us", "speedup", "samples_n"})
    EXPECT_EQ(cell(row, figure), kUnknown) << figure;
}

TEST(columns, a_wrong_output_has_the_tolerance_in_effect_and_its_errors_against_the_truth) {
  Evidence differs = evidence("value", "differs");
  differs.mismatch = Mismatch{.mismatched = 3, .total = 9, .worst_place = "[1, 2]", .rtol = 0.25, .atol = 0};
  differs.truth = TruthErrors{.kind = "float64 on the host", .submission_rms = 0.5, .reference_rms = 0.125};
  const RunRow row = ended_row("relu/wrong", VerdictName::wrong_answer, differs);
  EXPECT_EQ(cell(row, "rtol"), number(0.25));
  EXPECT_EQ(cell(row, "atol"), number(0));
  EXPECT_EQ(cell(row, "mismatch_place"), text("[1, 2]"));
  EXPECT_EQ(cell(row, "truth_kind"), text("float64 on the host"));
  EXPECT_EQ(cell(row, "truth_rms_err"), number(0.5));
  EXPECT_EQ(cell(row, "reference_truth_rms_err"), number(0.125));
  EXPECT_EQ(cell(row, "rounding_rms_err"), kUnknown);
  EXPECT_EQ(cell(row, "passed_by"), kUnknown);
  differs.mismatch = Mismatch{.looks_like = "cast", .expected_form = "int64[4]", .got_form = "int32[4]"};
  differs.truth = TruthErrors{.kind = "none: no room"};
  const RunRow form = ended_row("relu/form", VerdictName::wrong_answer, differs);
  EXPECT_EQ(cell(form, "got_form"), text("int32[4]"));
  EXPECT_EQ(cell(form, "truth_kind"), text("none: no room"));
  for (const char* figure : {"mismatch_n", "max_abs_err", "worst_err", "truth_rms_err"})
    EXPECT_EQ(cell(form, figure), kUnknown) << figure;
}

TEST(columns, an_unknown_property_of_a_machine_is_no_value) {
  RunRow row = passed_row("relu/fast", 1, 2);
  row.result->host = {.name = "gpu-7", .cores = 96};
  EXPECT_EQ(cell(row, "hostname"), text("gpu-7"));
  EXPECT_EQ(cell(row, "cpu_cores"), count(96));
  EXPECT_EQ(cell(row, "driver"), kUnknown);
  row.result->host.cores = 0;
  EXPECT_EQ(cell(row, "cpu_cores"), kUnknown);
  EXPECT_EQ(cell(row, "time_limit_s"), kUnknown);
  row.entry.submission.time_limit_ms = 1'500;
  EXPECT_EQ(cell(row, "time_limit_s"), number(1.5));
}

TEST(columns, a_profile_has_the_directory_of_its_files_and_a_message) {
  RunRow row = passed_row("relu/fast", 1'000, 2'000);
  for (const char* name : {"profile_dir", "profile_message", "profile_s"}) EXPECT_EQ(cell(row, name), kUnknown) << name;
  EXPECT_EQ(cell(row, "profile"), text("none"));
  row.entry.submission.trials.profile = Profiler::ncu;
  row.result->profile = Profile{.directory = "/profiles/r/relu-1-1", .message = "none", .ms = 9'250};
  EXPECT_EQ(cell(row, "profile"), text("ncu"));
  EXPECT_EQ(cell(row, "profile_dir"), text("/profiles/r/relu-1-1"));
  EXPECT_EQ(cell(row, "profile_message"), text("none"));
  EXPECT_EQ(cell(row, "profile_s"), number(9.25));
}

TEST(columns, conditions_have_values_only_for_a_monitored_gpu) {
  constexpr const char* kNames[] = {"sm_clock_mhz", "mem_clock_mhz", "temp_c",
                                    "power_w",      "throttle",      "other_procs_on_gpu"};
  RunRow row = passed_row("relu/fast", 1, 2);
  for (const char* name : kNames) EXPECT_EQ(cell(row, name), kUnknown) << "the GPU is not monitored: " << name;
  row.result->conditions = Conditions();
  for (const char* name : kNames) EXPECT_EQ(cell(row, name), kUnknown) << "the driver reports nothing: " << name;
  row.result->conditions = Conditions{.sm_clock_mhz = 1'980,
                                      .memory_clock_mhz = 3'201,
                                      .temperature_c = 41,
                                      .power_w = 312.5,
                                      .throttle = "none",
                                      .foreign = std::vector<GpuProcess>()};
  EXPECT_EQ(cell(row, "sm_clock_mhz"), count(1'980));
  EXPECT_EQ(cell(row, "mem_clock_mhz"), count(3'201));
  EXPECT_EQ(cell(row, "temp_c"), count(41));
  EXPECT_EQ(cell(row, "power_w"), number(312.5));
  EXPECT_EQ(cell(row, "throttle"), text("none"));
  EXPECT_EQ(cell(row, "other_procs_on_gpu"), text("none"));
  row.result->conditions->foreign = {{.pid = 4'711, .memory_mib = 512}, {.pid = 4'712}};
  EXPECT_EQ(cell(row, "other_procs_on_gpu"), text("4711:512;4712"));
}

TEST(columns, an_unfinished_row_has_no_outcome) {
  const RunRow row = queued_row("relu/slow");
  EXPECT_EQ(cell(row, "state"), text("queued"));
  for (const char* later : {"verdict", "fault", "device", "finished_at", "build_s", "sandbox"})
    EXPECT_EQ(cell(row, later), kUnknown) << later;
}

TEST(columns, json_has_every_column_in_order) {
  const std::string json = producer::to_text(to_json(passed_row("relu/fast", 1, 2)));
  EXPECT_EQ(
      json.find(R"({"schema": "kq.result/1", "job_id": 1, "run": "r1", "label": "relu/fast", "problem": "relu",)"), 0u)
      << json;
}

}  // namespace
}  // namespace kq::tools
