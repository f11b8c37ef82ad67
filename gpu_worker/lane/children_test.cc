// Children of a real zygote, on the CPU.
#include "gpu_worker/lane/children.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "gpu_worker/lane/lane_of_tests.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSource = "import torch\nclass Model(torch.nn.Module):\n    pass\n";

class ChildrenTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto tests = LaneOfTests::get();
    ASSERT_TRUE(tests) << tests.error().message;
    lane_ = &(*tests)->lane();
    lease_.submission.files = {{"kernel.py", sha256(kSource)}};
    lease_.submission.problem.file = "problem.py";
    lease_.submission.problem.hash = sha256(kSource);
    lease_.blobs = {{sha256(kSource), std::string(kSource)}};
    fs::remove_all(scratch());
  }
  static fs::path scratch() { return LaneOfTests::root() / "children"; }
  std::unique_ptr<Children> children(std::uint32_t ahead, Children::Inspect inspect = nullptr) {
    const LaneOptions options = LaneOfTests::options();
    return std::make_unique<Children>(
        ChildrenOptions{.arch = {},
                        .scratch = scratch(),
                        .first_uid = options.first_uid == 0 ? 0 : options.first_uid + kChildrenMax,
                        .host_bytes_max = options.limits.host_bytes_max,
                        .window_bytes_max = options.limits.window_bytes_max,
                        .ahead = ahead},
        warming_, [this] { return lane_->zygote(); }, std::move(inspect));
  }
  // As many directories of children as that, within ten seconds.
  static bool directories_become(std::size_t n) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    const auto count = [] {
      std::error_code none_yet;
      return static_cast<std::size_t>(
          std::distance(fs::directory_iterator(scratch(), none_yet), fs::directory_iterator()));
    };
    while (count() != n && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return count() == n;
  }

  channel::WarmUpPage warming_ = std::move(*channel::WarmUpPage::make());
  Lane* lane_ = nullptr;
  Lease lease_;
};

TEST_F(ChildrenTest, wait_before_they_are_wanted_and_the_next_ones_come_by_themselves) {
  const auto two = children(2);
  ASSERT_TRUE(directories_become(2));
  auto taken = two->take(ChildRole::submission, ChildKind::python, lease_, nullptr);
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_TRUE(fs::exists(taken->scratch.dir() + "/src/kernel.py"));
  EXPECT_TRUE(fs::exists(taken->scratch.dir() + "/src/problem.py") ||
              fs::exists(taken->scratch.dir() + "/src/_problem.py"));
  EXPECT_TRUE(directories_become(3));
  two->retire(std::move(*taken));
  EXPECT_TRUE(directories_become(2));
}

// The first takes a Python child, as none of its kind was wanted before; the second the one that came of that.
TEST_F(ChildrenTest, a_reference_waits_for_the_next_problem_once_one_was_wanted) {
  const auto one = children(1);
  ASSERT_TRUE(directories_become(1));
  auto first = one->take(ChildRole::reference, ChildKind::reference, lease_, nullptr);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE(directories_become(3)) << "it, the next Python child, the next reference";
  one->await_ready();
  auto second = one->take(ChildRole::reference, ChildKind::reference, lease_, nullptr);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_TRUE(directories_become(4)) << "another reference, and the Python child still waits";
  one->retire(std::move(*first));
  one->retire(std::move(*second));
}

TEST_F(ChildrenTest, of_an_expected_kind_one_waits_before_it_is_wanted) {
  const auto one = children(1);
  one->await_ready();
  one->expect(ChildKind::reference);
  one->await_ready();
  EXPECT_TRUE(directories_become(2));
  auto reference = one->take(ChildRole::reference, ChildKind::reference, lease_, nullptr);
  ASSERT_TRUE(reference) << reference.error().message;
  EXPECT_TRUE(directories_become(3)) << "the one that waited, another, and the Python child";
  one->retire(std::move(*reference));
}

TEST_F(ChildrenTest, who_could_not_make_himself_warm_does_not_wait_for_a_job) {
  ZygoteOptions options = LaneOfTests::options().zygote;
  const fs::path harness = scratch().parent_path() / "cold" / "harness";
  fs::remove_all(harness);
  fs::create_directories(harness.parent_path());
  fs::copy(options.harness, harness, fs::copy_options::recursive);
  std::ofstream(harness / "children" / "preforked.py", std::ios::app)
      << "\ndef warm_up(*_):\n    raise RuntimeError('CUDA error: out of memory')\n";
  options.harness = harness;
  auto zygote = Zygote::start(options);
  ASSERT_TRUE(zygote) << zygote.error().message;
  const std::shared_ptr<Zygote> cold = std::move(*zygote);
  const LaneOptions lane = LaneOfTests::options();
  Children children(
      ChildrenOptions{.arch = {},
                      .scratch = scratch(),
                      .first_uid = lane.first_uid == 0 ? 0 : lane.first_uid + kChildrenMax,
                      .host_bytes_max = lane.limits.host_bytes_max,
                      .window_bytes_max = lane.limits.window_bytes_max,
                      .ahead = 1},
      warming_, [&] { return cold; }, nullptr);
  children.await_ready();
  EXPECT_TRUE(directories_become(0)) << "it was taken down, and none is tried before one is wanted";
  auto taken = children.take(ChildRole::submission, ChildKind::python, lease_, nullptr);
  ASSERT_TRUE(taken) << "its first answer says what is wrong";
  EXPECT_TRUE(taken->is_cold);
  children.retire(std::move(*taken));
}

// They stand behind their walls, and make their contexts when the judge has its trials ready, or the next job would
// find none.
TEST_F(ChildrenTest, nobody_begins_while_the_judge_prepares_unless_he_is_needed) {
  warming_.set_preparing(true);
  const auto two = children(2);
  const auto asked = std::chrono::steady_clock::now();
  auto taken = two->take(ChildRole::submission, ChildKind::python, lease_, nullptr);
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_LT(std::chrono::steady_clock::now() - asked, std::chrono::seconds(4));
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  std::thread later([&] {
    std::this_thread::sleep_until(until);
    warming_.set_preparing(false);
  });
  two->await_ready();
  EXPECT_GE(std::chrono::steady_clock::now(), until) << "the second of those that wait";
  later.join();
  two->retire(std::move(*taken));
}

// One that is to be a reference loads kernels part by part, and stops where the judge begins to prepare.
TEST_F(ChildrenTest, who_warms_up_part_by_part_waits_before_each) {
  const auto child_begins = [this](bool is) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (warming_.any_running() != is && std::chrono::steady_clock::now() < until) {
    }
    return warming_.any_running() == is;
  };
  // Without a GPU all parts take some milliseconds: where this thread had no processor for so long, they were done
  // before it asked for quiet.
  bool has_waited = false;
  for (int tries = 0; tries < 10 && !has_waited; ++tries) {
    const auto one = children(1);
    one->await_ready();
    warming_.set_preparing(true);
    auto reference = one->take(ChildRole::reference, ChildKind::reference, lease_, nullptr);
    ASSERT_TRUE(reference) << reference.error().message;
    warming_.set_preparing(false);
    ASSERT_TRUE(child_begins(true));
    warming_.set_preparing(true);
    ASSERT_TRUE(child_begins(false)) << "the device feels nothing";
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    std::thread later([&] {
      std::this_thread::sleep_until(until);
      warming_.set_preparing(false);
    });
    one->await_ready();
    has_waited = std::chrono::steady_clock::now() >= until;
    EXPECT_FALSE(warming_.any_running());
    later.join();
    one->retire(std::move(*reference));
  }
  EXPECT_TRUE(has_waited);
}

TEST_F(ChildrenTest, one_that_is_retired_in_time_stays_while_the_judge_prepares_or_until_somebody_waits_for_its_end) {
  const auto none = children(0);
  for (const bool is_waited_for : {false, true}) {
    warming_.set_preparing(true);
    auto child = none->take(ChildRole::reference, ChildKind::reference, lease_, nullptr);
    ASSERT_TRUE(child) << child.error().message;
    none->retire_in_time(std::move(*child));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    EXPECT_TRUE(directories_become(1));
    EXPECT_TRUE(none->is_taking_down());
    const auto begun = std::chrono::steady_clock::now();
    if (is_waited_for) {
      none->settle();
    } else {
      warming_.set_preparing(false);
    }
    EXPECT_TRUE(directories_become(0));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(4));
  }
}

TEST_F(ChildrenTest, have_a_directory_of_their_own_until_they_are_gone) {
  const auto none = children(0);
  std::set<std::string> directories;
  std::vector<LaneChild> taken;
  for (int i = 0; i < 3; ++i) {
    auto child = none->take(ChildRole::reference, ChildKind::python, lease_, nullptr);
    ASSERT_TRUE(child) << child.error().message;
    directories.insert(child->scratch.dir());
    taken.push_back(std::move(*child));
  }
  EXPECT_EQ(directories.size(), 3u);
  for (LaneChild& child : taken) none->retire(std::move(child));
  none->settle();
  EXPECT_FALSE(none->is_taking_down());
  EXPECT_TRUE(directories_become(0));
}

TEST_F(ChildrenTest, a_job_whose_files_are_missing_is_ours_and_costs_one_child) {
  const auto none = children(0);
  lease_.blobs.clear();
  EXPECT_FALSE(none->take(ChildRole::submission, ChildKind::python, lease_, nullptr));
  none->settle();
  EXPECT_TRUE(directories_become(0));
}

TEST_F(ChildrenTest, what_is_wrong_with_the_device_after_one_has_died_is_kept) {
  int looks = 0;
  const auto none =
      children(0, [&looks] { return ++looks == 1 ? std::optional<std::string>("it smokes") : "it burns"; });
  for (int i = 0; i < 2; ++i) {
    auto child = none->take(ChildRole::calibrator, ChildKind::python, lease_, nullptr);
    ASSERT_TRUE(child) << child.error().message;
    none->retire(std::move(*child));
    none->settle();
  }
  EXPECT_EQ(none->complaint(), "it smokes");
}

TEST_F(ChildrenTest, none_is_forked_once_they_were_stopped) {
  const auto two = children(2);
  two->await_ready();
  two->stop();
  auto taken = two->take(ChildRole::calibrator, ChildKind::python, lease_, nullptr);
  ASSERT_TRUE(taken) << taken.error().message;
  two->retire(std::move(*taken));
  EXPECT_TRUE(directories_become(1));
}

TEST(ChildKind, is_the_launcher_where_device_code_meets_a_gpu) {
  EXPECT_EQ(kind_of(Backend::cuda, DeviceKind::cuda), ChildKind::launcher);
  EXPECT_EQ(kind_of(Backend::cuda, DeviceKind::cpu), ChildKind::python);
  EXPECT_EQ(kind_of(Backend::triton, DeviceKind::cuda), ChildKind::python);
  EXPECT_EQ(kind_of_references(DeviceKind::cuda), ChildKind::reference);
  EXPECT_EQ(kind_of_references(DeviceKind::cpu), ChildKind::python);
}

}  // namespace
}  // namespace kq::worker
