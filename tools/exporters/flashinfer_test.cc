#include <gtest/gtest.h>

#include <cmath>
#include <sstream>

#include "producer/client/json.h"
#include "tools/exporters/testing.h"
#include "tools/testing.h"

namespace kq::tools {
namespace {

RunRow tagged(RunRow row) {
  row.entry.submission.tags = {{"definition", "scale"}, {"solution", "mine"}};
  return row;
}

CaseResult one_case(const std::string& uuid, Verdict verdict) {
  return {.workload = uuid, .weight = 1, .verdict = std::move(verdict), .samples = {}};
}

class FlashinferExporter : public ::testing::Test {
 protected:
  FlashinferExporter() {
    std::filesystem::create_directories(folder / "set/workloads/ops");
    std::ofstream(folder / "set/workloads/ops/scale.jsonl")
        << R"({"definition": "scale", "workload": {"uuid": "a", "axes": {"n": 1}, "inputs": {}}})" << '\n'
        << R"({"definition": "scale", "workload": {"uuid": "b", "axes": {"n": 2}, "inputs": {}}})" << '\n';
  }
  std::string traces(const std::vector<RunRow>& rows) {
    export_rows(*find_exporter("flashinfer-trace"),
                {.out = (folder / "out").string(), .trace_set = (folder / "set").string()}, {}, rows);
    return folder.read("out/traces/scale.jsonl");
  }
  static std::string statuses(const std::string& text) {
    std::string found;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const auto trace = producer::parse_json(line);
      found += *trace->find("workload")->find("uuid")->text() + ":" +
               *trace->find("evaluation")->find("status")->text() + " ";
    }
    return found;
  }

  const ExportFolder folder;
};

TEST_F(FlashinferExporter, a_trace_for_each_workload_that_ran) {
  RunRow row = tagged(ended_row("scale/mine", VerdictName::wrong_answer, evidence("value", "off")));
  row.result->cases = {one_case("a", passed_row("x", 2'000'000, 6'000'000).result->verdict),
                       one_case("b", row.result->verdict)};
  const std::string text = traces({row});
  EXPECT_EQ(statuses(text), "a:PASSED b:INCORRECT_NUMERICAL ");
  const auto first = producer::parse_json(text.substr(0, text.find('\n')));
  EXPECT_EQ(producer::to_text(*first->find("workload")), R"({"uuid": "a", "axes": {"n": 1}, "inputs": {}})");
  EXPECT_EQ(producer::to_text(*first->find("evaluation")->find("performance")),
            R"({"latency_ms": 2.0, "reference_latency_ms": 6.0, "speedup_factor": 3.0})");
}

TEST_F(FlashinferExporter, a_job_without_cases_has_its_verdict_in_every_workload) {
  EXPECT_EQ(statuses(traces({tagged(ended_row("scale/mine", VerdictName::build_failed, evidence("", "no")))})),
            "a:COMPILE_ERROR b:COMPILE_ERROR ");
}

TEST_F(FlashinferExporter, every_ending_has_a_status_of_theirs) {
  const std::pair<VerdictName, const char*> endings[] = {{VerdictName::timed_out, "TIMEOUT"},
                                                         {VerdictName::rejected, "RUNTIME_ERROR"},
                                                         {VerdictName::gpu_fault, "RUNTIME_ERROR"},
                                                         {VerdictName::load_failed, "COMPILE_ERROR"}};
  for (const auto& [verdict, status] : endings)
    EXPECT_EQ(statuses(traces({tagged(ended_row("scale/mine", verdict, evidence("", "")))})),
              std::string("a:") + status + " b:" + status + " ");
  EXPECT_EQ(statuses(traces({tagged(ended_row("scale/mine", VerdictName::wrong_answer, evidence("shape", "")))})),
            "a:INCORRECT_SHAPE b:INCORRECT_SHAPE ");
}

TEST_F(FlashinferExporter, errors_of_a_wrong_output_are_never_zero) {
  const auto errors = [&](const std::optional<Mismatch>& mismatch) {
    RunRow row = tagged(ended_row("scale/mine", VerdictName::wrong_answer, evidence("value", "off")));
    std::get<Ended>(row.result->verdict).evidence.mismatch = mismatch;
    const std::string text = traces({row});
    const auto trace = producer::parse_json(text.substr(0, text.find('\n')));
    return producer::to_text(*trace->find("evaluation")->find("correctness"));
  };
  EXPECT_EQ(errors(Mismatch{.max_abs_err = 0.5, .max_rel_err = 0.25, .worst_error = 0.5}),
            R"({"max_relative_error": 0.25, "max_absolute_error": 0.5})");
  EXPECT_EQ(errors(Mismatch{.max_abs_err = 0.5, .max_rel_err = 0.25, .worst_error = HUGE_VAL, .not_finite = 1}),
            R"({"max_relative_error": "Infinity", "max_absolute_error": "Infinity"})");
  EXPECT_EQ(errors(Mismatch{.worst_error = std::nan(""), .not_finite = 4}),
            R"({"max_relative_error": "NaN", "max_absolute_error": "NaN"})");
  EXPECT_EQ(errors(std::nullopt), R"({"max_relative_error": "NaN", "max_absolute_error": "NaN"})");
}

TEST_F(FlashinferExporter, it_needs_the_trace_set) {
  const auto selection = Selection::make({}, 0);
  const auto opened = find_exporter("flashinfer-trace")->open({.out = (folder / "out").string()}, *selection);
  ASSERT_FALSE(opened);
  EXPECT_NE(opened.error().message.find("needs --trace-set DIR"), std::string::npos);
}

}  // namespace
}  // namespace kq::tools
