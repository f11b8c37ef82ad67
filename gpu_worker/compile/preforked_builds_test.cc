// Tests the pool with children of a real zygote; builder_test.cc tests what they build.
#include "gpu_worker/compile/preforked_builds.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "gpu_worker/compile/child.h"
#include "gpu_worker/lane/test_lane.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

class PreforkedBuildsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto tests = TestLane::get();
    ASSERT_TRUE(tests) << tests.error().message;
    (*tests)->lane().wait_until_idle();
    auto zygote = (*tests)->lane().zygote();
    ASSERT_TRUE(zygote) << zygote.error().message;
    zygote_ = *zygote;
  }
  static std::set<std::string> directories() {
    std::set<std::string> found;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(root(), none)) found.insert(entry.path());
    return found;
  }
  // Returns the ids of the children that are forked ahead after `child`. No other test forks from this zygote
  // meanwhile.
  std::vector<std::uint64_t> waiting_after(const PreforkedBuild& child) const {
    std::vector<std::uint64_t> ids;
    for (std::uint64_t id = child.id + 1; id <= child.id + kPreforkedBuildsMax; ++id) {
      for (int i = 0; i < 6'000 && zygote_->process_of(id) == 0; ++i)
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      ids.push_back(id);
    }
    return ids;
  }
  static std::string root() { return (TestLane::root() / "preforked_builds").string(); }
  static std::unique_ptr<PreforkedBuilds> pool() {
    return std::make_unique<PreforkedBuilds>(PreforkedBuildsOptions{.scratch = root(),
                                                                    .first_uid = ::geteuid() == 0 ? 61300u : 0u,
                                                                    .host_bytes = 4ull << 30,
                                                                    .scratch_bytes = kBuildScratchBytes});
  }
  // Takes a child, within a minute.
  std::optional<PreforkedBuild> taken_in_time(PreforkedBuilds& pool, const std::string& arch = "sm_90") {
    for (int i = 0; i < 6'000; ++i) {
      if (auto child = pool.take(zygote_, arch)) return child;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return std::nullopt;
  }

  std::shared_ptr<Zygote> zygote_;
};

TEST_F(PreforkedBuildsTest, no_child_waits_before_one_was_wanted_and_each_has_a_directory_of_its_own) {
  const auto pool = this->pool();
  EXPECT_FALSE(pool->take(zygote_, "sm_90"));
  std::vector<PreforkedBuild> children;
  std::set<std::string> places;
  for (int i = 0; i < 4; ++i) {
    auto child = taken_in_time(*pool);
    ASSERT_TRUE(child);
    places.insert(child->scratch.dir());
    children.push_back(std::move(*child));
  }
  EXPECT_EQ(places.size(), 4u);
  for (PreforkedBuild& child : children) {
    EXPECT_FALSE(*zygote_->wait(child.id, 0)) << "the child waits";
    child.channel = sys::Fd();
    EXPECT_EQ(*zygote_->wait(child.id, 60'000), std::optional(0)) << "the child ends when its channel is closed";
    zygote_->forget(child.id);
  }
}

TEST_F(PreforkedBuildsTest, children_for_one_architecture_wait_while_others_are_wanted) {
  const auto pool = this->pool();
  auto first = taken_in_time(*pool);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->arch, "sm_90");
  waiting_after(*first);
  const auto of_first = directories();
  EXPECT_FALSE(pool->take(zygote_, "sm_80")) << "the waiting children compile for sm_90";
  auto other = taken_in_time(*pool, "sm_80");
  ASSERT_TRUE(other);
  EXPECT_EQ(other->arch, "sm_80");
  auto again = pool->take(zygote_, "sm_90");
  ASSERT_TRUE(again) << "the child has gone on waiting";
  EXPECT_TRUE(of_first.contains(again->scratch.dir()));
  for (auto* const child : {&first, &other, &again}) pool->end(std::move(**child));
}

TEST_F(PreforkedBuildsTest, a_dead_child_is_not_returned) {
  const auto pool = this->pool();
  auto first = taken_in_time(*pool);
  ASSERT_TRUE(first);
  for (const std::uint64_t id : waiting_after(*first)) {
    zygote_->kill(id);
    EXPECT_TRUE(*zygote_->wait(id, 60'000));
  }
  const auto next = taken_in_time(*pool);
  ASSERT_TRUE(next);
  EXPECT_FALSE(*zygote_->wait(next->id, 100));
  pool->end(std::move(*first));
}

TEST_F(PreforkedBuildsTest, the_destructor_ends_all_children) {
  auto pool = this->pool();
  auto child = taken_in_time(*pool);
  ASSERT_TRUE(child);
  std::vector<int> processes{zygote_->process_of(child->id)};
  for (const std::uint64_t id : waiting_after(*child)) processes.push_back(zygote_->process_of(id));
  pool->end(std::move(*child));
  child.reset();
  pool.reset();
  EXPECT_TRUE(directories().empty());
  for (const int process : processes) EXPECT_TRUE(::kill(process, 0) != 0 && errno == ESRCH) << process;
}

}  // namespace
}  // namespace kq::worker
