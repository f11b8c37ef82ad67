#include "gpu_worker/compile/cache.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include <gtest/gtest.h>

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

class BuildCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("kq-cache-" + std::to_string(::getpid()));
    fs::remove_all(root_);
    fs::create_directories(out());
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string out() const { return root_ / "out"; }
  void make(const std::string& name, const std::string& bytes) const { std::ofstream(out() + "/" + name) << bytes; }
  fs::path root_;
};

TEST_F(BuildCacheTest, finds_an_entry_by_its_key) {
  const BuildCache cache(root_ / "cache");
  EXPECT_FALSE(cache.find(sha256("a")));
  make("module.cubin", "code");
  const auto entry = cache.put(sha256("a"), out());
  ASSERT_TRUE(entry);
  EXPECT_EQ(cache.find(sha256("a")), *entry);
  EXPECT_TRUE(fs::exists(*entry + "/module.cubin"));
  EXPECT_FALSE(cache.find(sha256("b")));
  EXPECT_TRUE(cache.put(sha256("a"), out())) << "a second worker with the same build is no error";
}

TEST_F(BuildCacheTest, ignores_links_and_directories) {
  const BuildCache cache(root_ / "cache");
  fs::create_symlink("/etc/passwd", out() + "/passwd");
  fs::create_directory(out() + "/dir");
  const auto entry = cache.put(sha256("a"), out());
  ASSERT_TRUE(entry);
  EXPECT_EQ(std::distance(fs::directory_iterator(*entry), {}), 1) << "only the list of files";
}

TEST_F(BuildCacheTest, an_unreadable_build_makes_no_entry) {
  const BuildCache cache(root_ / "cache");
  EXPECT_FALSE(cache.put(sha256("a"), root_ / "missing"));
  EXPECT_FALSE(cache.find(sha256("a")));
  EXPECT_TRUE(fs::is_empty(root_ / "cache" / "tmp"));
}

TEST_F(BuildCacheTest, removes_a_damaged_entry) {
  const BuildCache cache(root_ / "cache");
  make("module.so", "code");
  const auto entry = cache.put(sha256("a"), out());
  ASSERT_TRUE(entry);
  fs::permissions(*entry + "/module.so", fs::perms::owner_all);
  std::ofstream(*entry + "/module.so") << "coda";
  EXPECT_FALSE(cache.find(sha256("a")));
  EXPECT_FALSE(fs::exists(*entry)) << "a damaged entry is removed";
  ASSERT_TRUE(cache.put(sha256("a"), out()));
  fs::remove(*entry + "/module.so");
  EXPECT_FALSE(cache.find(sha256("a")));
  ASSERT_TRUE(cache.put(sha256("a"), out()));
  fs::permissions(*entry + "/module.so", fs::perms::owner_all);
  std::ofstream(*entry + "/module.so") << "coda";
  EXPECT_EQ(cache.verify(), std::vector{to_hex(sha256("a"))});
  EXPECT_TRUE(cache.verify().empty());
}

TEST_F(BuildCacheTest, a_damaged_precompiled_header_is_removed_although_its_size_is_right) {
  const BuildCache cache(root_ / "cache");
  make("torch.gch", "code");
  const auto put = [&] { return cache.put_header(sha256("torch"), "cuda-O1", out()).has_value(); };
  ASSERT_TRUE(put());
  const fs::path file = *cache.headers(sha256("torch")) + "/cuda-O1/torch.gch";
  fs::last_write_time(file, fs::file_time_type::clock::now() - std::chrono::hours(1));
  ASSERT_TRUE(cache.has_header(sha256("torch"), "cuda-O1"));
  const auto damage = [&] {
    fs::permissions(file, fs::perms::owner_write, fs::perm_options::add);
    std::ofstream(file) << "coda";
  };
  damage();
  EXPECT_FALSE(cache.has_header(sha256("torch"), "cuda-O1")) << "the file has changed since it was verified";
  EXPECT_FALSE(fs::exists(file));

  ASSERT_TRUE(put());
  const auto written_at = fs::last_write_time(file);
  damage();
  fs::last_write_time(file, written_at);
  EXPECT_FALSE(BuildCache(root_ / "cache").has_header(sha256("torch"), "cuda-O1")) << "another worker verifies it";
  ASSERT_TRUE(put());
  EXPECT_TRUE(cache.has_header(sha256("torch"), "cuda-O1"));
}

TEST_F(BuildCacheTest, prunes_the_least_recently_used_entries_first) {
  const BuildCache cache(root_ / "cache");
  const auto age = [&](const char* name, int hours) {
    fs::last_write_time(*cache.find(sha256(name)), fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  make("module.so", std::string(1000, 'x'));
  for (const char* name : {"a", "b", "c", "d"}) ASSERT_TRUE(cache.put(sha256(name), out()));
  ASSERT_TRUE(cache.put_header(sha256("torch"), "cuda-O1", out()));
  age("a", 3);
  age("b", 2);
  age("c", 4);
  ASSERT_EQ(cache.list().size(), 5u);
  EXPECT_EQ(cache.list().front().name, to_hex(sha256("c")));
  EXPECT_EQ(cache.list().front().bytes, 1000u);
  EXPECT_EQ(cache.prune(4'000), 1u);
  EXPECT_FALSE(cache.find(sha256("c")));
  EXPECT_EQ(cache.prune(1), 2u) << "recently used entries may be in use";
  EXPECT_TRUE(cache.find(sha256("d")) && cache.has_header(sha256("torch"), "cuda-O1"));
  EXPECT_EQ(cache.prune(0), 2u);
  EXPECT_TRUE(cache.list().empty());
}

TEST_F(BuildCacheTest, stays_below_its_limit_after_every_put) {
  const BuildCache cache(root_ / "cache", 10'000);
  make("module.so", std::string(1000, 'x'));
  for (int i = 0; i < 40; ++i) {
    const auto entry = cache.put(sha256(std::to_string(i)), out());
    ASSERT_TRUE(entry) << i;
    fs::last_write_time(*entry, fs::file_time_type::clock::now() - std::chrono::hours(100 - i));
    ASSERT_LE(cache.list().size(), 10u) << i;
  }
  EXPECT_GE(cache.list().size(), 9u) << "no more entries are removed than necessary";
  EXPECT_TRUE(cache.find(sha256("39")));
  EXPECT_FALSE(cache.find(sha256("20")));
}

TEST_F(BuildCacheTest, entries_in_use_stay_and_put_fails_at_twice_the_limit) {
  const BuildCache cache(root_ / "cache", 3'000);
  make("module.so", std::string(1000, 'x'));
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) ASSERT_TRUE(cache.put(sha256(name), out())) << name;
  const auto more = cache.put(sha256("g"), out());
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().message, "the build cache has twice its limit of 3000 bytes, and all entries are in use");
  EXPECT_EQ(cache.list().size(), 6u);
  EXPECT_TRUE(fs::is_empty(root_ / "cache" / "tmp"));
  fs::last_write_time(*cache.find(sha256("a")), fs::file_time_type::clock::now() - std::chrono::minutes(3));
  EXPECT_TRUE(cache.put(sha256("g"), out())) << "entry a was most likely copied already";
  EXPECT_FALSE(cache.find(sha256("a")));
}

TEST_F(BuildCacheTest, removes_what_a_killed_writer_left) {
  const BuildCache cache(root_ / "cache");
  const fs::path left = root_ / "cache" / "tmp" / "4711-1";
  fs::create_directories(left);
  cache.prune(kCacheBytesMax);
  EXPECT_TRUE(fs::exists(left)) << "its writer may be alive";
  fs::last_write_time(left, fs::file_time_type::clock::now() - std::chrono::hours(2));
  cache.prune(kCacheBytesMax);
  EXPECT_FALSE(fs::exists(left));
}

// Kills writers at random instants. KQ_CACHE_KILLS is the number of kills; scripts/kill-builds makes many.
TEST_F(BuildCacheTest, a_killed_writer_leaves_a_complete_entry_or_none) {
  const BuildCache cache(root_ / "cache");
  const auto content = [](int i) {
    return std::string(1000 + 4000 * static_cast<std::size_t>(i), static_cast<char>('a' + i % 26));
  };
  constexpr int kKeys = 12;
  for (int i = 0; i < kKeys; ++i) {
    fs::create_directories(root_ / std::to_string(i));
    for (const char* name : {"module.so", "facts"})
      std::ofstream(root_ / std::to_string(i) / name) << content(i) << name;
  }
  const char* asked = std::getenv("KQ_CACHE_KILLS");
  const int kills = asked != nullptr ? std::atoi(asked) : 10;
  std::mt19937 random(static_cast<unsigned>(kills));
  int found = 0;
  constexpr int kKillsMax = 1000;  // on a machine so busy that no writer ever gets through
  for (int kill = 0; kill < kills || (found == 0 && kill < kKillsMax); ++kill) {
    std::vector<pid_t> writers;
    for (int n = 0; n < 2; ++n) {
      writers.push_back(::fork());
      for (int i = kill; writers.back() == 0; ++i) {
        (void)cache.put(sha256(std::to_string(i % kKeys)), root_ / std::to_string(i % kKeys));
        if (i % 3 == 0) cache.remove(sha256(std::to_string((i + 5) % kKeys)));
      }
    }
    ::usleep(std::uniform_int_distribution<useconds_t>(0, 12'000)(random));
    for (const pid_t writer : writers) {
      ::kill(writer, SIGKILL);
      ASSERT_EQ(::waitpid(writer, nullptr, 0), writer);
    }
    for (int i = 0; i < kKeys; ++i) {
      const auto entry = cache.find(sha256(std::to_string(i)));
      if (!entry) continue;
      ++found;
      for (const char* name : {"module.so", "facts"}) {
        std::ifstream file(*entry + "/" + name);
        ASSERT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), content(i) + name) << "after kill " << kill;
      }
    }
  }
  EXPECT_GT(found, 0);
  ASSERT_TRUE(cache.put(sha256("0"), root_ / "0")) << "files of killed writers do not block a put";
}

TEST_F(BuildCacheTest, refuses_too_many_files) {
  const BuildCache cache(root_ / "cache");
  for (std::size_t i = 0; i <= kBuildFilesMax; ++i) make(std::to_string(i), "x");
  EXPECT_FALSE(cache.put(sha256("a"), out()));
  EXPECT_FALSE(cache.find(sha256("a")));
}

TEST(BuildKey, changes_with_everything_that_shapes_a_build) {
  Submission submission;
  submission.files = {{"a.cu", sha256("a")}};
  const Software software{.kq = "", .python = "3.11", .torch = "2.11", .triton = "3.6", .cuda = "13.0"};
  const Hash key = build_key(submission, DeviceKind::cuda, "sm_90", software, "g++");
  EXPECT_NE(key, build_key(submission, DeviceKind::cuda, "sm_100", software, "g++"));
  EXPECT_NE(key, build_key(submission, DeviceKind::cpu, "sm_90", software, "g++"));
  Software newer = software;
  newer.cuda = "13.1";
  EXPECT_NE(key, build_key(submission, DeviceKind::cuda, "sm_90", newer, "g++"));
  Submission other = submission;
  other.files[0].hash = sha256("b");
  EXPECT_NE(key, build_key(other, DeviceKind::cuda, "sm_90", software, "g++"));
  other = submission;
  other.problem.precision = Precision::fp16;
  EXPECT_NE(key, build_key(other, DeviceKind::cuda, "sm_90", software, "g++"));
  EXPECT_NE(key, build_key(submission, DeviceKind::cuda, "sm_90", software, "g++ of another version"));
  other = submission;
  other.label = "another";
  EXPECT_EQ(key, build_key(other, DeviceKind::cuda, "sm_90", software, "g++"));
}

}  // namespace
}  // namespace kq::worker
