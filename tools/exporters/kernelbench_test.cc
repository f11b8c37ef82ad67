#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tools/exporters/testing.h"
#include "tools/testing.h"

namespace kq::tools {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

RunRow sample(std::uint32_t level, std::uint32_t problem, std::uint32_t sample_id, RunRow row) {
  row.entry.submission.label =
      "level_" + std::to_string(level) + "_problem_" + std::to_string(problem) + "_sample_" + std::to_string(sample_id);
  row.entry.submission.problem.file = std::to_string(problem) + "_p_.py";
  row.result->device.model = "GPU A/1";
  return row;
}
RunRow right(std::uint32_t level, std::uint32_t problem, std::uint32_t sample_id) {
  return sample(level, problem, sample_id, passed_row("x", 1e6, 2e6, problem));
}
RunRow wrong(std::uint32_t level, std::uint32_t problem, std::uint32_t sample_id) {
  return sample(level, problem, sample_id, ended_row("x", VerdictName::wrong_answer, evidence_at(Stage::judge)));
}

std::vector<std::string> dump(const ExportFolder& folder, const std::vector<RunRow>& rows) {
  return export_rows(*find_exporter("kernelbench"), {.out = folder.path().string(), .pass_at_k = {1, 2}}, {}, rows);
}

constexpr const char* kExpectedResults = R"json({
    "2": [
        {
            "sample_id": 0,
            "compiled": true,
            "correctness": false,
            "metadata": {
                "hardware": "GPU A/1",
                "device": "cpu",
                "correctness_issue": "wrong_answer",
                "correctness_issue_name": "wrong_answer",
                "kq_verdict": "wrong_answer",
                "kq_job_id": 1,
                "kq_level": 1
            },
            "runtime": -1.0,
            "runtime_stats": {}
        },
        {
            "sample_id": 1,
            "compiled": true,
            "correctness": true,
            "metadata": {
                "hardware": "GPU A/1",
                "device": "cpu",
                "correctness_trials": "(27 / 27)",
                "kq_verdict": "passed",
                "kq_job_id": 2,
                "kq_level": 1
            },
            "runtime": 1.0,
            "runtime_stats": {
                "mean": 1.0,
                "std": 0.0,
                "min": 0.0,
                "max": 0.0,
                "num_trials": 20,
                "hardware": "GPU A/1",
                "device": "cpu"
            }
        }
    ],
    "10": [
        {
            "sample_id": 0,
            "compiled": true,
            "correctness": true,
            "metadata": {
                "hardware": "GPU A/1",
                "device": "cpu",
                "correctness_trials": "(27 / 27)",
                "kq_verdict": "passed",
                "kq_job_id": 10,
                "kq_level": 1
            },
            "runtime": 1.0,
            "runtime_stats": {
                "mean": 1.0,
                "std": 0.0,
                "min": 0.0,
                "max": 0.0,
                "num_trials": 20,
                "hardware": "GPU A/1",
                "device": "cpu"
            }
        }
    ]
})json";

TEST(kernelbench_exporter, results_are_in_numeric_order_and_laid_out_as_kernelbench_does) {
  const ExportFolder folder;
  dump(folder, {right(1, 10, 0), right(1, 2, 1), wrong(1, 2, 0)});
  EXPECT_EQ(folder.read("eval_results.json"), kExpectedResults);
  const auto ks = producer::parse_json(folder.read("pass_at_k_results.json"));
  ASSERT_TRUE(ks);
  EXPECT_EQ(producer::to_text(*ks->find("averages")), R"({"avg_pass@1": 0.75, "avg_pass@2": 0.5})");
}

TEST(kernelbench_exporter, an_unsolved_problem_has_a_baseline_entry_without_times) {
  const ExportFolder folder;
  dump(folder, {right(1, 1, 0), wrong(1, 2, 0), right(2, 1, 0)});
  const auto baseline = producer::parse_json(folder.read("timing/GPU_A_1/baseline_time_torch.json"));
  ASSERT_TRUE(baseline);
  EXPECT_EQ(producer::to_text(*baseline->find("level1")),
            R"({"1_p_.py": {"mean": 2.0, "std": 0.0, "min": 0.0, "max": 0.0, "num_trials": 20, )"
            R"("hardware": "GPU A/1", "device": "cpu", "precision": "as_given"}, )"
            R"("2_p_.py": {"mean": null, "std": null, "min": null, "max": null, "num_trials": 0, )"
            R"("hardware": "GPU A/1", "device": "cpu", "precision": "as_given"}})");
  EXPECT_NE(baseline->find("level2"), nullptr);
}

TEST(kernelbench_exporter, references_under_torch_compile_have_a_baseline_file_of_their_own) {
  const ExportFolder folder;
  RunRow compiled = right(1, 2, 0);
  compiled.entry.submission.trials.baseline = Baseline::compile;
  dump(folder, {right(1, 1, 0), compiled});
  const auto mean = [&](const char* file, const char* problem) {
    const auto baseline = producer::parse_json(folder.read(std::string("timing/GPU_A_1/") + file));
    return baseline ? producer::to_text(*baseline->find("level1")->find(problem)).substr(0, 12) : "no file";
  };
  EXPECT_EQ(mean("baseline_time_torch.json", "1_p_.py"), R"({"mean": 2.0)");
  EXPECT_EQ(mean("baseline_time_torch.json", "2_p_.py"), R"({"mean": nul)");
  EXPECT_EQ(mean("baseline_time_torch_compile_inductor_default.json", "1_p_.py"), R"({"mean": nul)");
  EXPECT_EQ(mean("baseline_time_torch_compile_inductor_default.json", "2_p_.py"), R"({"mean": 2.0)");
}

TEST(kernelbench_exporter, several_levels_have_a_folder_each) {
  const ExportFolder folder;
  dump(folder, {right(1, 1, 0), right(2, 1, 0)});
  EXPECT_TRUE(fs::exists(folder / "level1/eval_results.json"));
  EXPECT_TRUE(fs::exists(folder / "level2/eval_results.json"));
  EXPECT_FALSE(fs::exists(folder / "level1/pass_at_k_results.json"));
}

TEST(kernelbench_exporter, the_newer_of_two_rows_of_one_sample_is_written) {
  for (const bool newer_is_first : {true, false}) {
    const ExportFolder folder;
    std::vector<RunRow> rows{wrong(1, 2, 0), right(1, 2, 0)};
    rows[0].job.seq = 3;
    rows[1].job.seq = 7;
    if (newer_is_first) std::swap(rows[0], rows[1]);
    EXPECT_THAT(dump(folder, rows), ElementsAre(HasSubstr("1 row was left out: a newer row of the run")));
    const auto results = producer::parse_json(folder.read("eval_results.json"));
    ASSERT_TRUE(results);
    ASSERT_EQ(results->find("2")->array()->size(), 1u);
    EXPECT_EQ(*(*results->find("2")->array())[0].find("correctness")->boolean(), true);
  }
}

TEST(kernelbench_exporter, rows_that_were_only_compiled_are_left_out_and_counted) {
  const ExportFolder folder;
  EXPECT_THAT(dump(folder, {right(1, 1, 0),
                            sample(1, 1, 1, ended_row("x", VerdictName::compiled_only, evidence_at(Stage::build)))}),
              ElementsAre(HasSubstr("1 row was left out: the verdict is compiled_only")));
  EXPECT_FALSE(fs::exists(folder / "pass_at_k_results.json"));
}

TEST(kernelbench_exporter, rows_that_are_left_out_are_counted) {
  const ExportFolder folder;
  EXPECT_THAT(dump(folder, {right(1, 1, 0), right(1, 1, 0), queued_row("level_1_problem_2_sample_0"),
                            queued_row("relu/x"), queued_row("relu/y")}),
              ElementsAre(HasSubstr("1 row was left out: the job is not finished"),
                          HasSubstr("2 rows were left out: the job has neither"),
                          HasSubstr("1 row was left out: a newer row")));
  RunRow other = right(1, 3, 0);
  other.result->device.model = "GPU B";
  EXPECT_THAT(dump(folder, {right(1, 1, 0), other}), ElementsAre(HasSubstr("several device models")));
  EXPECT_TRUE(fs::exists(folder / "timing/GPU_B/baseline_time_torch.json"));
}

TEST(kernelbench_exporter, an_empty_run_leaves_no_new_folder_and_keeps_an_existing_one) {
  const ExportFolder folder;
  export_rows(*find_exporter("kernelbench"), {.out = (folder.path() / "new").string()}, {}, {});
  EXPECT_FALSE(std::filesystem::exists(folder.path() / "new"));
  export_rows(*find_exporter("kernelbench"), {.out = (folder.path() / "right").string()}, {}, {right(1, 2, 0)});
  EXPECT_TRUE(std::filesystem::exists(folder.path() / "right/eval_results.json"));
  dump(folder, {});
  EXPECT_TRUE(std::filesystem::exists(folder.path()));
}

TEST(kernelbench_exporter, merge_keeps_earlier_results_of_other_samples) {
  const ExportFolder folder;
  std::ofstream(folder / "eval_results.json")
      << R"({"2": [{"sample_id": 0, "compiled": true, "correctness": true}, {"sample_id": 1, "compiled": false}],)"
      << R"( "7": {"sample_id": 0, "compiled": true, "correctness": false}})";
  const auto notes = export_rows(*find_exporter("kernelbench"), {.out = folder.path().string(), .merge = true}, {},
                                 {right(1, 2, 1), right(1, 10, 0)});
  EXPECT_THAT(notes, ElementsAre(HasSubstr("2 results of other samples were kept")));
  const auto results = producer::parse_json(folder.read("eval_results.json"));
  ASSERT_TRUE(results);
  ASSERT_EQ(results->object()->size(), 3u);
  EXPECT_EQ((*results->object())[1].name, "7");  // in numeric order
  EXPECT_EQ(producer::to_text((*results->find("2")->array())[0]),
            R"({"sample_id": 0, "compiled": true, "correctness": true})");
  EXPECT_EQ(*(*results->find("2")->array())[1].find("compiled")->boolean(), true);  // the run's own result wins
  EXPECT_THAT(folder.read("pass_at_k_results.json"), HasSubstr("\"total_evaluated_samples\": 4"));
}

TEST(kernelbench_exporter, results_of_another_level_are_not_merged) {
  const ExportFolder folder;
  const std::string before = R"({"2": [{"sample_id": 1, "metadata": {"kq_level": 2}}]})";
  std::ofstream(folder / "eval_results.json") << before;
  const auto selection = Selection::make({}, 0);
  auto opened = open_kernelbench({.out = folder.path().string(), .merge = true}, *selection);
  ASSERT_TRUE((*opened)->add(right(1, 2, 1)));
  EXPECT_THAT((*opened)->finish().error().message,
              HasSubstr("has results of level 2, and those of level 1 would take"));
  EXPECT_EQ(folder.read("eval_results.json"), before);
}

TEST(kernelbench_exporter, a_file_that_cannot_be_merged_is_unchanged) {
  const ExportFolder folder;
  std::ofstream(folder / "eval_results.json") << "{";
  const auto selection = Selection::make({}, 0);
  auto opened = open_kernelbench({.out = folder.path().string(), .merge = true}, *selection);
  ASSERT_TRUE((*opened)->add(right(1, 2, 1)));
  EXPECT_THAT((*opened)->finish().error().message, HasSubstr("eval_results.json: not JSON"));
  EXPECT_EQ(folder.read("eval_results.json"), "{");
}

}  // namespace
}  // namespace kq::tools
