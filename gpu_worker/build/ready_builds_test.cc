// With a real zygote's children: what they build is seen in builder_test.cc.
#include "gpu_worker/build/ready_builds.h"

#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "gpu_worker/build/child.h"
#include "gpu_worker/lane_of_tests.h"

namespace kq {
namespace {

namespace fs = std::filesystem;

class ReadyBuildsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto tests = LaneOfTests::get();
    ASSERT_TRUE(tests) << tests.error().message;
    auto zygote = (*tests)->lane().zygote();
    ASSERT_TRUE(zygote) << zygote.error().message;
    zygote_ = *zygote;
  }
  static std::string root() { return (LaneOfTests::root() / "ready_builds").string(); }
  static std::unique_ptr<ReadyBuilds> pool() {
    return std::make_unique<ReadyBuilds>(ReadyBuildsOptions{
        .scratch = root(), .first_uid = ::geteuid() == 0 ? 61300u : 0u, .host_bytes = 4ull << 30, .scratch_bytes = kBuildScratchBytes});
  }
  // Within twenty seconds.
  std::optional<ReadyBuild> taken_in_time(ReadyBuilds& pool, const std::string& arch = "sm_90") {
    for (int i = 0; i < 2'000; ++i) {
      if (auto child = pool.take(zygote_, arch)) return child;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return std::nullopt;
  }

  std::shared_ptr<Zygote> zygote_;
};

TEST_F(ReadyBuildsTest, none_waits_before_one_was_wanted_and_each_has_a_place_of_its_own) {
  const auto pool = this->pool();
  EXPECT_FALSE(pool->take(zygote_, "sm_90"));
  std::vector<ReadyBuild> children;
  std::set<std::string> places;
  for (int i = 0; i < 4; ++i) {
    auto child = taken_in_time(*pool);
    ASSERT_TRUE(child);
    places.insert(child->scratch.dir());
    children.push_back(std::move(*child));
  }
  EXPECT_EQ(places.size(), 4u);
  for (ReadyBuild& child : children) {
    EXPECT_FALSE(*zygote_->wait(child.id, 0)) << "it waits";
    child.channel = Fd();
    EXPECT_EQ(*zygote_->wait(child.id, 20'000), std::optional(0)) << "nobody is there to tell it what to build";
    zygote_->forget(child.id);
  }
}

TEST_F(ReadyBuildsTest, one_that_died_and_one_for_another_device_are_not_given) {
  const auto pool = this->pool();
  const auto first = taken_in_time(*pool);
  ASSERT_TRUE(first);
  zygote_->kill(first->id);
  EXPECT_FALSE(pool->take(zygote_, "sm_80")) << "those that wait compile for sm_90";
  const auto other = taken_in_time(*pool, "sm_80");
  ASSERT_TRUE(other);
  EXPECT_FALSE(*zygote_->wait(other->id, 0));
  zygote_->kill(other->id);
}

TEST_F(ReadyBuildsTest, none_is_left_of_a_pool_that_is_gone) {
  auto pool = this->pool();
  const auto child = taken_in_time(*pool);
  ASSERT_TRUE(child);
  zygote_->kill(child->id);
  pool.reset();
  std::error_code none;
  const auto left = std::distance(fs::directory_iterator(root(), none), fs::directory_iterator());
  EXPECT_LE(left, 1) << "that of the one that was taken";
}

}  // namespace
}  // namespace kq
