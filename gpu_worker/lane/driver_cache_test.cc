#include "gpu_worker/lane/driver_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
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

  static Software software(const std::string& torch, const std::string& packages = {}) {
    Software software{};
    software.torch = torch;
    software.packages = packages;
    return software;
  }
  DriverCache cache(const std::string& driver = "580.65.06") const {
    return DriverCache(caches_, driver, "sm_90", software("2.11.0"));
  }
  void leave(const std::string& bytes) const { std::ofstream(out_ / "code.zip") << bytes; }

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
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(kept), {}), "machine code");
  EXPECT_EQ(std::distance(fs::directory_iterator(cache().folder()), {}), 1) << "nothing else is left";
}

TEST_F(DriverCacheTest, refuses_a_link_to_a_file_of_the_worker) {
  std::ofstream(dir_ / "secret") << "secret";
  fs::create_symlink(dir_ / "secret", out_ / "code.zip");
  EXPECT_FALSE(cache().keep(out_.string()));
}

TEST_F(DriverCacheTest, depends_on_the_driver_the_architecture_torch_and_the_packages) {
  leave("machine code");
  ASSERT_TRUE(cache().keep(out_.string()));
  EXPECT_EQ(cache("590.1").folder(), "");
  EXPECT_EQ(DriverCache(caches_, "580.65.06", "sm_100", software("2.11.0")).folder(), "");
  EXPECT_EQ(DriverCache(caches_, "580.65.06", "sm_90", software("2.12.0")).folder(), "");
  EXPECT_EQ(DriverCache(caches_, "580.65.06", "sm_90", software("2.11.0", "ab")).folder(), "");
}

TEST_F(DriverCacheTest, keeps_no_more_archives_than_the_limit) {
  leave("machine code");
  for (std::size_t i = 0; i <= kDriverCachesMax; ++i) {
    const DriverCache each = cache(std::to_string(i));
    ASSERT_TRUE(each.keep(out_.string()));
    EXPECT_NE(each.folder(), "");
  }
  EXPECT_EQ(cache("0").folder(), "");
}

TEST(may_search, is_true_of_jobs_that_name_a_search_or_attention) {
  const auto lease_of = [](const std::string& kernel, const std::string& problem) {
    Lease lease;
    lease.submission.files = {{.name = "kernel.py", .hash = sha256(kernel)}};
    lease.submission.problem.hash = sha256(problem);
    lease.blobs = {{sha256(kernel), kernel}, {sha256(problem), problem}};
    return lease;
  };
  EXPECT_FALSE(may_search(lease_of("y = x + 1", "torch.backends.cudnn.allow_tf32 = False")));
  EXPECT_TRUE(may_search(lease_of("torch.backends.cudnn.benchmark = True", "")));
  EXPECT_TRUE(may_search(lease_of("y = x + 1", "F.scaled_dot_product_attention(q, k, v)")));
}

}  // namespace
}  // namespace kq::worker
