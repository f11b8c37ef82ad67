// Children of a real zygote, on the CPU.
#include "gpu_worker/lane/children.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "gpu_worker/lane/test_lane.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSource = "import torch\nclass Model(torch.nn.Module):\n    pass\n";

class ChildrenTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto tests = TestLane::get();
    ASSERT_TRUE(tests) << tests.error().message;
    lane_ = &(*tests)->lane();
    lease_.submission.files = {{"kernel.py", sha256(kSource)}};
    lease_.submission.problem.file = "problem.py";
    lease_.submission.problem.hash = sha256(kSource);
    lease_.blobs = {{sha256(kSource), std::string(kSource)}};
    fs::remove_all(scratch());
  }
  static fs::path scratch() { return TestLane::root() / "children"; }
  // Starts a zygote whose children run other code in place of a function of a module of the harness. Returns null where
  // it does not start.
  static std::shared_ptr<Zygote> zygote_with(const std::string& name, const std::string& code,
                                             const std::string& module = "children/preforked.py") {
    ZygoteOptions options = TestLane::options().zygote;
    const fs::path harness = scratch().parent_path() / name / "harness";
    fs::remove_all(harness);
    fs::create_directories(harness.parent_path());
    fs::copy(options.harness, harness, fs::copy_options::recursive);
    std::ofstream(harness / module, std::ios::app) << "\n" << code;
    options.harness = harness;
    auto zygote = Zygote::start(options);
    EXPECT_TRUE(zygote) << zygote.error().message;
    return zygote ? std::shared_ptr<Zygote>(std::move(*zygote)) : nullptr;
  }
  // Returns what a child with kOffer has printed as the answer to its offer.
  static std::string answer_of(LaneChild& child) {
    const std::string begin = "the answer is ";
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    for (;;) {
      const std::string log = child.log.so_far();
      const std::size_t at = log.find(begin);
      const std::size_t end = at == log.npos ? log.npos : log.find('\n', at);
      if (end != log.npos) return log.substr(at + begin.size(), end - at - begin.size());
      if (std::chrono::steady_clock::now() > deadline) return "none in: " + log;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  std::unique_ptr<Children> children(std::uint32_t ahead, Children::Inspect inspect = nullptr,
                                     const std::shared_ptr<Zygote>& zygote = nullptr,
                                     const std::optional<DriverCache>& driver_cache = std::nullopt) {
    const LaneOptions options = TestLane::options();
    return std::make_unique<Children>(
        ChildrenOptions{.arch = {},
                        .scratch = scratch(),
                        .first_uid = options.first_uid == 0 ? 0 : options.first_uid + kChildrenMax,
                        .host_bytes_max = std::max<std::uint64_t>(options.limits.host_bytes_max, 4ull << 30),
                        .window_bytes_max = options.limits.window_bytes_max,
                        .driver_cache = driver_cache,
                        .ahead = ahead},
        warm_ups_, [this, zygote] { return zygote ? Expected<std::shared_ptr<Zygote>>(zygote) : lane_->zygote(); },
        std::move(inspect));
  }
  static DriverCache driver_cache() {
    const std::string dir = scratch().string() + "-driver-caches";
    fs::remove_all(dir);
    return DriverCache(dir, {.driver = "580", .arch = "sm_90", .torch = "2.11", .packages = {}, .harness = {}});
  }
  static std::size_t directory_count() {
    std::error_code none_yet;
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(scratch(), none_yet), fs::directory_iterator()));
  }
  // Whether the number of children's directories becomes `expected` within a minute.
  static bool directories_become(std::size_t expected) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (directory_count() != expected && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return directory_count() == expected;
  }
  // A child waits for a judge that prepares no longer than five seconds (kTurnLimitMs in children.cc), which is
  // longer than these tests take, except on a very busy host. So one of several tries must show that it waits.
  static constexpr int kTriesMax = 10;
  static constexpr auto kWithoutWaiting = std::chrono::seconds(4);

  channel::WarmUpPage warm_ups_ = std::move(*channel::WarmUpPage::make());
  Lane* lane_ = nullptr;
  Lease lease_;
};

TEST_F(ChildrenTest, are_forked_ahead_and_replaced_when_one_is_taken) {
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

// The first reference is taken from the Python children; the second is the one that is forked ahead after that.
TEST_F(ChildrenTest, a_reference_is_forked_ahead_once_one_was_wanted) {
  const auto one = children(1);
  ASSERT_TRUE(directories_become(1));
  auto first = one->take(ChildRole::reference, ChildKind::reference, lease_, nullptr);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE(directories_become(3)) << "the reference, the next Python child and the next reference";
  one->wait_until_ready();
  auto second = one->take(ChildRole::reference, ChildKind::reference, lease_, nullptr);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_TRUE(directories_become(4)) << "another reference, and the Python child still waits";
  one->retire(std::move(*first));
  one->retire(std::move(*second));
}

TEST_F(ChildrenTest, one_of_an_expected_kind_is_forked_ahead) {
  const auto one = children(1);
  one->wait_until_ready();
  one->expect(ChildKind::reference);
  one->wait_until_ready();
  EXPECT_TRUE(directories_become(2));
  auto reference = one->take(ChildRole::reference, ChildKind::reference, lease_, nullptr);
  ASSERT_TRUE(reference) << reference.error().message;
  EXPECT_TRUE(directories_become(3)) << "the reference, the next one and the Python child";
  one->retire(std::move(*reference));
}

TEST_F(ChildrenTest, a_cold_child_does_not_wait_for_a_job) {
  const auto zygote = zygote_with("cold", "def warm_up(*_):\n    raise RuntimeError('CUDA error: out of memory')\n");
  ASSERT_TRUE(zygote);
  const auto one = children(1, nullptr, zygote);
  one->wait_until_ready();
  EXPECT_TRUE(directories_become(0)) << "the cold child is reaped, and none is forked before one is wanted";
  auto taken = one->take(ChildRole::submission, ChildKind::python, lease_, nullptr);
  ASSERT_TRUE(taken) << "the child's first answer to the judge says why it is cold";
  EXPECT_TRUE(taken->is_cold);
  one->retire(std::move(*taken));
}

// What a child does that uses a device, and one that then offers to load kernels.
constexpr const char* kAsk = R"(
def warm_up(job, judge, *_):
    judge.send(b"asks")
    print("the answer is", receive(judge).decode(), flush=True)
)";
constexpr const char* kOffer = R"(
def warm_up(job, judge, *_):
    judge.send(b"asks")
    receive(judge)
    judge.send(b"offers")
    print("the answer is", receive(judge).decode(), flush=True)
)";

TEST_F(ChildrenTest, kernels_are_loaded_only_while_nothing_is_timed) {
  const auto zygote = zygote_with("offers", kOffer);
  ASSERT_TRUE(zygote);
  warm_ups_.set_untimed(false);
  const auto one = children(1, nullptr, zygote);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  std::thread later([&] { std::this_thread::sleep_until(until), warm_ups_.set_untimed(true); });
  one->wait_until_ready();
  EXPECT_GE(std::chrono::steady_clock::now(), until);
  later.join();
  auto taken = one->take(ChildRole::submission, ChildKind::python, lease_, nullptr);
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(answer_of(*taken), "go");
  one->retire(std::move(*taken));
}

TEST_F(ChildrenTest, no_kernels_are_loaded_beside_code_that_measures_and_no_context_is_made_beside_a_program) {
  struct Case {
    const char* name;
    const char* warm_up;
    WarmUpsBeside beside;
  };
  for (const Case& one_case :
       {Case{"asks", kAsk, WarmUpsBeside::none}, Case{"offers", kOffer, WarmUpsBeside::contexts}}) {
    const auto zygote = zygote_with(one_case.name, one_case.warm_up);
    ASSERT_TRUE(zygote);
    const auto one = children(1, nullptr, zygote);
    one->wait_until_ready();
    one->allow(one_case.beside);
    auto first = one->take(ChildRole::submission, ChildKind::python, lease_, nullptr);
    ASSERT_TRUE(first) << first.error().message;
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    std::thread later([&] { std::this_thread::sleep_until(until), one->allow(WarmUpsBeside::contexts_and_kernels); });
    one->wait_until_ready();
    EXPECT_GE(std::chrono::steady_clock::now(), until) << one_case.name;
    later.join();
    auto second = one->take(ChildRole::submission, ChildKind::python, lease_, nullptr);
    ASSERT_TRUE(second) << second.error().message;
    EXPECT_EQ(answer_of(*second), "go") << one_case.name;
    one->retire(std::move(*first));
    one->retire(std::move(*second));
  }
}

TEST_F(ChildrenTest, a_child_that_a_job_waits_for_loads_no_kernels) {
  const auto zygote = zygote_with("offers", kOffer);
  ASSERT_TRUE(zygote);
  const auto one = children(1, nullptr, zygote);
  one->wait_until_ready();
  warm_ups_.set_untimed(false);
  auto first = one->take(ChildRole::submission, ChildKind::python, lease_, nullptr);
  ASSERT_TRUE(first) << first.error().message;
  auto second = one->take(ChildRole::submission, ChildKind::python, lease_, nullptr);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(answer_of(*second), "skip");
  one->retire(std::move(*first));
  one->retire(std::move(*second));
}

TEST_F(ChildrenTest, a_job_can_have_the_memory_of_the_children_that_wait) {
  const auto two = children(2);
  two->keep_waiting(false);  // the two warm up, or wait
  EXPECT_TRUE(directories_become(0));
  auto taken = two->take(ChildRole::submission, ChildKind::python, lease_, nullptr);
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_TRUE(directories_become(1)) << "none is forked ahead";
  two->keep_waiting(true);
  two->wait_until_ready();
  EXPECT_TRUE(directories_become(3));
  two->retire(std::move(*taken));
}

TEST_F(ChildrenTest, retire_when_quiet_waits_while_the_judge_prepares_unless_the_end_is_awaited) {
  const auto none = children(0);
  for (const bool is_awaited : {false, true}) {
    bool has_waited = false, is_reaped_at_once = false;
    for (int tries = 0; tries < kTriesMax && !(has_waited && is_reaped_at_once); ++tries) {
      warm_ups_.set_preparing(true);
      auto child = none->take(ChildRole::reference, ChildKind::reference, lease_, nullptr);
      ASSERT_TRUE(child) << child.error().message;
      none->retire_when_quiet(std::move(*child));
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      has_waited = directory_count() == 1 && none->is_reaping();
      const auto start = std::chrono::steady_clock::now();
      if (is_awaited) {
        none->wait_until_reaped();
      } else {
        warm_ups_.set_preparing(false);
      }
      EXPECT_TRUE(directories_become(0));
      is_reaped_at_once = std::chrono::steady_clock::now() - start < kWithoutWaiting;
    }
    EXPECT_TRUE(has_waited) << is_awaited;
    EXPECT_TRUE(is_reaped_at_once) << is_awaited;
  }
}

TEST_F(ChildrenTest, have_a_directory_of_their_own_until_they_are_reaped) {
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
  none->wait_until_reaped();
  EXPECT_FALSE(none->is_reaping());
  EXPECT_TRUE(directories_become(0));
}

TEST_F(ChildrenTest, a_job_with_missing_files_fails_and_costs_one_child) {
  const auto none = children(0);
  lease_.blobs.clear();
  EXPECT_FALSE(none->take(ChildRole::submission, ChildKind::python, lease_, nullptr));
  none->wait_until_reaped();
  EXPECT_TRUE(directories_become(0));
}

TEST_F(ChildrenTest, the_first_failure_of_the_device_after_a_childs_end_is_kept) {
  int inspections = 0;
  const auto none = children(0, [&inspections] {
    return ++inspections == 1 ? std::optional<std::string>("first failure") : "second failure";
  });
  for (int i = 0; i < 2; ++i) {
    auto child = none->take(ChildRole::calibrator, ChildKind::python, lease_, nullptr);
    ASSERT_TRUE(child) << child.error().message;
    none->retire(std::move(*child));
    none->wait_until_reaped();
  }
  EXPECT_EQ(none->failure_reason(), "first failure");
}

TEST_F(ChildrenTest, none_is_forked_after_stop) {
  const auto two = children(2);
  two->wait_until_ready();
  two->stop();
  auto taken = two->take(ChildRole::calibrator, ChildKind::python, lease_, nullptr);
  ASSERT_TRUE(taken) << taken.error().message;
  two->retire(std::move(*taken));
  EXPECT_TRUE(directories_become(1));
}

TEST(ChildKind, is_launcher_for_device_code_on_a_gpu) {
  EXPECT_EQ(kind_of(Backend::cuda, DeviceKind::cuda), ChildKind::launcher);
  EXPECT_EQ(kind_of(Backend::cuda, DeviceKind::cpu), ChildKind::python);
  EXPECT_EQ(kind_of(Backend::triton, DeviceKind::cuda), ChildKind::python);
  EXPECT_EQ(kind_of_references(DeviceKind::cuda), ChildKind::reference);
  EXPECT_EQ(kind_of_references(DeviceKind::cpu), ChildKind::python);
}

// The archive holds what the child's process has put into the driver's folder; there is no driver here.
constexpr const char* kMakeOneFile = R"(
def calls():
    Path(os.environ[FOLDERS[0]], "made").touch()
    return []
)";

TEST_F(ChildrenTest, replaces_waiting_children_by_ones_that_begin_with_the_drivers_code) {
  const auto zygote = zygote_with("driver-cache", std::string(kMakeOneFile), "kernels/driver_cache.py");
  ASSERT_TRUE(zygote);
  const DriverCache cache = driver_cache();
  const auto one = children(1, nullptr, zygote, cache);
  one->wait_until_ready();
  one->replace_outdated();
  EXPECT_FALSE(one->is_reaping()) << "without an archive no child is outdated";
  ASSERT_TRUE(one->make_driver_cache({}));
  EXPECT_NE(cache.folder(), "");
  one->replace_outdated();
  one->wait_until_reaped();
  one->wait_until_ready();
  EXPECT_TRUE(directories_become(1)) << "another child waits";
  auto taken = one->take(ChildRole::submission, ChildKind::python, lease_, nullptr);
  ASSERT_TRUE(taken) << taken.error().message;
  const fs::path root = "/proc/" + std::to_string(zygote->process_of(taken->id)) + "/root";
  const fs::path in_view = root / "kq/work/compiled/driver/made";
  const fs::path beside = fs::path(taken->scratch.dir()) / "work/compiled/driver/made";
  EXPECT_TRUE(fs::exists(in_view) || fs::exists(beside));
  EXPECT_EQ(taken->log.so_far(), "");
  one->retire(std::move(*taken));
  ASSERT_TRUE(one->make_driver_cache({})) << "the archive is there";
  EXPECT_EQ(one->failure_reason(), std::nullopt);
  EXPECT_FALSE(one->wants_driver_cache());
}

TEST_F(ChildrenTest, keeps_no_archive_of_a_child_that_fails_or_is_stopped) {
  const DriverCache cache = driver_cache();
  const auto failing =
      zygote_with("no-driver-cache", "def fill(job):\n    raise MemoryError('no room')\n", "kernels/driver_cache.py");
  ASSERT_TRUE(failing);
  const auto failed = children(0, nullptr, failing, cache)->make_driver_cache({});
  ASSERT_FALSE(failed);
  EXPECT_TRUE(failed.error().message.starts_with(
      "there is no archive of the driver's code, so each job compiles that code: a child failed"))
      << failed.error().message;
  EXPECT_NE(failed.error().message.find("no room"), std::string::npos);

  const auto slow = zygote_with("slow-driver-cache", "def fill(job):\n    import time\n    time.sleep(600)\n",
                                "kernels/driver_cache.py");
  ASSERT_TRUE(slow);
  const auto none = children(0, nullptr, slow, cache);
  std::stop_source source;
  source.request_stop();
  EXPECT_FALSE(none->make_driver_cache(source.get_token()));
  EXPECT_TRUE(none->wants_driver_cache()) << "a stop says nothing about the archive";
  EXPECT_EQ(cache.folder(), "");
  const auto lock = cache.lock();
  ASSERT_TRUE(lock && *lock) << "a stopped call gives the lock back";
  EXPECT_TRUE(none->make_driver_cache({})) << "another lane makes the archive";
}

}  // namespace
}  // namespace kq::worker
