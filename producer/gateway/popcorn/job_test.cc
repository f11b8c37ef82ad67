#include "producer/gateway/popcorn/job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "producer/formats/test_folder.h"

namespace kq::gateway::popcorn {
namespace {

using producer::Json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

const Gpu kCpu{.name = "CPU", .wish = DeviceWish::cpu, .model = ""};

Json json(std::string_view text) {
  return producer::parse_json(text).value();
}

class PopcornJob : public testing::Test {
 protected:
  Board board() {
    Board made{.name = "add"};
    made.lang = "py";
    for (const char* name : {"reference.py", "task.py", "utils.py"})
      made.files.push_back({name, folder_.write(name, std::string(name) == "task.py" ? "import utils\n" : "X = 1\n")});
    made.tests = {json(R"({"n": 16, "seed": 1})"), json(R"({"n": 17, "flag": true, "seed": 1})")};
    made.benchmarks = {json(R"({"n": 1024, "seed": 1})"), json(R"({"n": 2048, "seed": 1})")};
    made.ranking = Ranking::geom;
    return made;
  }
  static producer::PackedJob made(const Board& of, Mode mode = Mode::leaderboard, const std::string& text = "x = 1\n") {
    auto job = job_of(of, mode, kCpu, {"my_kernel.py", text});
    EXPECT_TRUE(job) << job.error().message;
    return job ? std::move(*job) : producer::PackedJob{};
  }
  static std::string why(const Board& of, Mode mode = Mode::test, const ClientFile& file = {"a.py", "x\n"}) {
    const auto job = job_of(of, mode, kCpu, file);
    return job ? "nothing" : job.error().message;
  }
  static std::vector<std::string> names(const producer::PackedJob& job) {
    std::vector<std::string> found;
    for (const SourceFile& file : job.submission.files) found.push_back(file.name);
    return found;
  }

  producer::TestFolder folder_;
};

TEST_F(PopcornJob, the_problem_has_the_files_and_the_cases_of_the_board) {
  const auto job = made(board());
  const std::string& problem = *job.files.back().text;
  EXPECT_THAT(problem, HasSubstr("\"reference.py\": \"X = 1\\n\""));
  EXPECT_THAT(
      problem,
      HasSubstr(R"py("test.1 (n: 17; flag: True)", "weight": 0, "case": {"n": 17, "flag": True, "seed": 1}})py"));
  EXPECT_THAT(problem, HasSubstr(R"py({"name": "benchmark.1 (n: 2048)", "weight": 1, "case")py"));
  EXPECT_THAT(problem, HasSubstr(std::string(producer::popcorn::kReferenceSide)));
  EXPECT_EQ(job.submission.problem.hash, sha256(problem));
  EXPECT_EQ(job.submission.problem.name, "popcorn/add");
  EXPECT_EQ(*job.files[0].text, producer::popcorn::kSubmissionSide);
  EXPECT_TRUE(validate([&] {
    Submission labelled = job.submission;
    labelled.label = "1";
    return labelled;
  }()));
}

TEST_F(PopcornJob, a_mode_selects_among_the_workloads_of_one_problem) {
  const auto all = made(board()), tests = made(board(), Mode::test), timed = made(board(), Mode::benchmark);
  EXPECT_TRUE(runs_all_workloads(all.submission.problem));
  EXPECT_EQ(tests.submission.problem.hash, all.submission.problem.hash);
  EXPECT_EQ(tests.submission.problem.workloads, std::vector<Workload>{{"test.*"}});
  EXPECT_EQ(tests.submission.trials.timed, 0u);
  EXPECT_EQ(timed.submission.problem.workloads, std::vector<Workload>{{"benchmark.*"}});
  EXPECT_EQ(timed.submission.trials.timed, producer::popcorn::kTimedCalls);
  EXPECT_EQ(all.submission.time_limit_ms, 540'000u);
  EXPECT_EQ(made(board(), Mode::profile).submission.trials.profile, Profiler::ncu);
}

TEST_F(PopcornJob, a_ranking_by_the_last_benchmark_times_only_that_one) {
  Board last = board();
  last.ranking = Ranking::last;
  const std::string problem = *made(last).files.back().text;
  EXPECT_THAT(problem, HasSubstr("\"benchmark.0 (n: 2048)\""));
  EXPECT_THAT(problem, Not(HasSubstr("n: 1024")));
}

TEST_F(PopcornJob, the_files_that_a_submission_imports_travel_with_it) {
  EXPECT_THAT(names(made(board())), ElementsAre("popcorn_entry.py", "submission.py"));
  EXPECT_THAT(names(made(board(), Mode::test, "from task import input_t\n")),
              ElementsAre("popcorn_entry.py", "submission.py", "task.py", "utils.py"));
  EXPECT_THAT(names(made(board(), Mode::test, "import utilsx, task_\n")),
              ElementsAre("popcorn_entry.py", "submission.py"));
}

TEST_F(PopcornJob, what_cannot_be_judged_is_said_in_one_sentence) {
  Board cuda = board(), several = board(), wrong = board(), bare = board(), many = board();
  cuda.lang = "cu";
  several.is_multi_gpu = true;
  wrong.mistake = "task.yml: lang must be py or cu";
  bare.files.erase(bare.files.begin());
  bare.tests.clear();
  EXPECT_EQ(why(cuda),
            "leaderboard add cannot be judged here: its lang is cu, so its data are C++ values and no tensors; "
            "kq submit --judged-by problem runs its own program");
  EXPECT_EQ(
      why(several),
      "leaderboard add cannot be judged here: its submissions run on several GPUs at once, and kq's judge measures "
      "on one; kq submit --judged-by problem runs its own program");
  EXPECT_EQ(why(wrong), "leaderboard add cannot be read: task.yml: lang must be py or cu");
  EXPECT_EQ(why(bare), "leaderboard add cannot be judged here: it has no reference.py");
  many.tests.clear();
  EXPECT_EQ(why(many), "leaderboard add has no tests");
  many.files.resize(15, many.files[0]);
  EXPECT_THAT(why(many), HasSubstr("it has 15 files, at most 14"));
  EXPECT_EQ(why(board(), Mode::test, {"a.tar.gz", "x"}), "the file a.tar.gz must be a Python file, name.py");
  EXPECT_EQ(why(board(), Mode::test, {"a.py", ""}), "the file a.py is empty");
  EXPECT_THAT(why(board(), Mode::test, {"a.py", std::string(1'000'001, 'x')}), HasSubstr("at most 1000000"));
}

TEST_F(PopcornJob, devices_have_short_names) {
  BrokerReply broker;
  const auto device = [](DeviceKind kind, const char* model) {
    return DeviceInfo{.kind = kind, .model = model, .uuid = {}, .arch = {}};
  };
  WorkerStatus worker{.worker = "w", .devices = {}};
  worker.devices = {device(DeviceKind::cuda, "NVIDIA H100 80GB HBM3"),
                    device(DeviceKind::cuda, "NVIDIA A100-SXM4-80GB"),
                    device(DeviceKind::cuda, "NVIDIA GeForce RTX 4090"), device(DeviceKind::cpu, "AMD EPYC")};
  broker.workers = {worker};
  const auto named = [&] {
    std::vector<std::string> found;
    for (const Gpu& gpu : gpus_of(broker)) found.push_back(gpu.name);
    return found;
  };
  EXPECT_THAT(named(), ElementsAre("A100", "H100", "RTX_4090", "CPU"));
  EXPECT_EQ(gpus_of(broker)[1].model, "NVIDIA H100 80GB HBM3");
  broker.workers[0].devices.push_back(device(DeviceKind::cuda, "NVIDIA H100 PCIe"));
  EXPECT_THAT(named(), ElementsAre("A100", "NVIDIA_H100_80GB_HBM3", "NVIDIA_H100_PCIe", "RTX_4090", "CPU"));
}

TEST_F(PopcornJob, values_are_written_as_python_writes_them) {
  EXPECT_EQ(producer::popcorn::python_text(json(R"({"a": [true, false, null, 1, 0.5, "x\"y"]})")),
            R"({"a": [True, False, None, 1, 0.5, "x\"y"]})");
}

}  // namespace
}  // namespace kq::gateway::popcorn
