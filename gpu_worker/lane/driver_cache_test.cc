#include "gpu_worker/lane/driver_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

class DriverCacheTest : public testing::Test {
 protected:
  DriverCacheTest() { fs::create_directories(out_); }
  ~DriverCacheTest() override {
    std::error_code ignored;
    fs::remove_all(dir_, ignored);
  }

  DriverCache cache(const std::function<void(DriverCacheKey&)>& change = [](DriverCacheKey&) {}) const {
    DriverCacheKey key{.driver = "580.65.06", .arch = "sm_90", .torch = "2.11.0", .packages = "ab", .harness = dir_};
    change(key);
    return DriverCache(caches_, key);
  }
  void leave(const std::string& bytes) const { std::ofstream(out_ / "code.zip") << bytes << kEnd; }

  static inline const std::string kEnd = "PK\5\6" + std::string(18, '\0');
  const fs::path dir_ = fs::temp_directory_path() / ("kq-driver-cache-" + std::to_string(::getpid()));
  const fs::path out_ = dir_ / "out";
  const std::string caches_ = (dir_ / "caches").string();
};

TEST_F(DriverCacheTest, is_empty_until_a_child_has_left_an_archive) {
  EXPECT_EQ(cache().folder(), "");
  EXPECT_FALSE(cache().keep(out_.string())) << "nothing lies in out/";
  EXPECT_EQ(cache().folder(), "");
  leave("machine code");
  ASSERT_TRUE(cache().keep(out_.string()));
  std::ifstream kept(fs::path(cache().folder()) / "code.zip");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), "machine code" + kEnd);
  EXPECT_EQ(std::distance(fs::directory_iterator(cache().folder()), {}), 1) << "nothing else is left";
}

TEST_F(DriverCacheTest, refuses_a_link_to_a_file_of_the_worker) {
  std::ofstream(dir_ / "secret") << "secret";
  fs::create_symlink(dir_ / "secret", out_ / "code.zip");
  EXPECT_FALSE(cache().keep(out_.string()));
}

TEST_F(DriverCacheTest, depends_on_the_driver_the_architecture_torch_and_the_calls) {
  leave("machine code");
  ASSERT_TRUE(cache().keep(out_.string()));
  EXPECT_NE(cache().folder(), "");
  EXPECT_EQ(cache([](DriverCacheKey& key) { key.driver = "590.1"; }).folder(), "");
  EXPECT_EQ(cache([](DriverCacheKey& key) { key.arch = "sm_100"; }).folder(), "");
  EXPECT_EQ(cache([](DriverCacheKey& key) { key.torch = "2.12.0"; }).folder(), "");
  EXPECT_EQ(cache([](DriverCacheKey& key) { key.packages = "cd"; }).folder(), "");
  fs::create_directories(dir_ / "kernels");
  std::ofstream(dir_ / "kernels" / "driver_cache.py") << "other calls";
  EXPECT_EQ(cache().folder(), "");
}

TEST_F(DriverCacheTest, a_damaged_archive_counts_as_absent) {
  leave("machine code");
  ASSERT_TRUE(cache().keep(out_.string()));
  const fs::path archive = fs::path(cache().folder()) / "code.zip";
  fs::resize_file(archive, fs::file_size(archive) - 1);
  EXPECT_EQ(cache().folder(), "");
  fs::resize_file(archive, 0);
  EXPECT_EQ(cache().folder(), "");
}

TEST_F(DriverCacheTest, can_be_read_by_other_users_whatever_the_umask_is) {
  leave("machine code");
  const mode_t kept = ::umask(077);
  ASSERT_TRUE(cache().keep(out_.string()));
  ::umask(kept);
  const fs::path folder = cache().folder();
  EXPECT_EQ(fs::status(folder.parent_path()).permissions(), fs::perms(0755));
  EXPECT_EQ(fs::status(folder).permissions(), fs::perms(0755));
  EXPECT_EQ(fs::status(folder / "code.zip").permissions(), fs::perms(0644));
}

TEST_F(DriverCacheTest, keeps_no_more_archives_than_the_limit) {
  leave("machine code");
  const auto of_driver = [&](std::size_t i) {
    return cache([i](DriverCacheKey& key) { key.driver = std::to_string(i); });
  };
  const auto held = of_driver(1).lock();
  ASSERT_TRUE(held && *held);
  for (std::size_t i = 0; i <= kDriverCachesMax; ++i) {
    ASSERT_TRUE(of_driver(i).keep(out_.string()));
    EXPECT_NE(of_driver(i).folder(), "");
  }
  EXPECT_EQ(of_driver(0).folder(), "");
  EXPECT_NE(of_driver(1).folder(), "") << "a lane has the right to make it";
}

TEST_F(DriverCacheTest, one_lane_at_a_time_makes_an_archive) {
  const auto first = cache().lock(), second = cache().lock();
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(first->has_value());
  EXPECT_FALSE(second->has_value());
}

TEST(are_files_protected, is_true_where_a_layer_or_a_user_separates_children) {
  EXPECT_TRUE(are_files_protected("user,pid,mount,seccomp", 0));
  EXPECT_TRUE(are_files_protected("rlimits,landlock", 0));
  EXPECT_TRUE(are_files_protected("rlimits", 61'000));
  EXPECT_FALSE(are_files_protected("rlimits,seccomp", 0));
}

}  // namespace
}  // namespace kq::worker
