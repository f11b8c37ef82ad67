#include "tools/problem/probes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tools/stack/fake_programs.h"

namespace kq::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kRelu = "class Model:\n    pass\n\n\ndef get_inputs():\n    return []\n";

TEST(probes, stand_behind_the_text_of_the_problem) {
  EXPECT_EQ(probe_text(Probe::reference, kRelu), std::string(kRelu) + "\n\nModelNew = Model\n");
  for (const Probe probe : {Probe::zeros, Probe::constant, Probe::first_input, Probe::stateless}) {
    const std::string text = probe_text(probe, kRelu);
    EXPECT_THAT(text, StartsWith(kRelu));
    EXPECT_THAT(text, HasSubstr("class ModelNew(Model):"));
    EXPECT_THAT(text, Not(HasSubstr("WORD")));
    EXPECT_THAT(text, Not(HasSubstr("CHANGE")));
  }
}

TEST(probes, are_one_job_each_and_on_no_board) {
  const TestFolder folder;
  folder.write("my relu.py", kRelu);
  const auto probed = probe_problem(folder.file("my relu.py"), 3, DeviceWish::cpu);
  ASSERT_TRUE(probed) << probed.error().message;
  std::set<std::string> labels;
  for (const producer::PackedJob& job : probed->jobs) {
    labels.insert(job.submission.label);
    EXPECT_FALSE(runs_all_workloads(job.submission.problem));
    EXPECT_EQ(job.submission.device, DeviceWish::cpu);
    EXPECT_EQ(job.submission.trials.timed > 0, job.submission.label == "3-my_relu/reference");
  }
  EXPECT_THAT(labels, ElementsAre("3-my_relu/constant", "3-my_relu/first_input", "3-my_relu/reference",
                                  "3-my_relu/stateless", "3-my_relu/zeros"));
}

TEST(probes, of_a_file_without_a_model_are_none) {
  const TestFolder folder;
  folder.write("a.py", "def get_inputs():\n    return []\n");
  const auto probed = probe_problem(folder.file("a.py"), 1, DeviceWish::any);
  ASSERT_TRUE(probed) << probed.error().message;
  EXPECT_EQ(probed->mistake, "a problem defines class Model and get_inputs; missing here: class Model");
  EXPECT_TRUE(probed->jobs.empty());
}

TEST(probes, of_a_missing_file_are_bad_input) {
  const TestFolder folder;
  const auto probed = probe_problem(folder.file("none.py"), 1, DeviceWish::any);
  ASSERT_FALSE(probed);
  EXPECT_EQ(probed.error().kind, ErrorKind::bad_input);
  EXPECT_THAT(probed.error().message, HasSubstr("none.py"));
}

TEST(probes, have_the_same_run_where_they_are_the_same_jobs) {
  const TestFolder folder;
  folder.write("a.py", kRelu);
  const auto run = [&](DeviceWish device) { return run_of({*probe_problem(folder.file("a.py"), 1, device)}); };
  EXPECT_EQ(run(DeviceWish::cpu), run(DeviceWish::cpu));
  EXPECT_NE(run(DeviceWish::cpu), run(DeviceWish::cuda));
  EXPECT_THAT(run(DeviceWish::any), StartsWith("problem-check-"));
}

}  // namespace
}  // namespace kq::tools
