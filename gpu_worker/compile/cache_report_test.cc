#include "gpu_worker/compile/cache_report.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

class CacheReportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    fs::create_directories(root_ / "out");
    std::ofstream(root_ / "out" / "module.so") << "code";
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string ask(CacheVerb verb, bool as_json = false) const { return ask_cache(cache_, verb, 0, as_json).text; }

  fs::path root_ = fs::temp_directory_path() / ("kq-cache-report-" + std::to_string(::getpid()));
  BuildCache cache_{root_ / "cache"};
};

TEST_F(CacheReportTest, an_empty_cache_says_so) {
  EXPECT_EQ(ask(CacheVerb::ls), "the cache is empty\n");
  EXPECT_EQ(ask(CacheVerb::ls, true), "[]\n");
  EXPECT_EQ(ask(CacheVerb::stats), "0 builds, 0 bytes; 0 precompiled headers, 0 bytes\n");
  EXPECT_EQ(ask(CacheVerb::verify), "every entry is as it was put\n");
}

TEST_F(CacheReportTest, entries_are_listed_verified_and_removed) {
  const auto entry = cache_.put(sha256("a"), root_ / "out");
  ASSERT_TRUE(entry && cache_.put(sha256("b"), root_ / "out") &&
              cache_.put_header(sha256("torch"), "cpp-O1", root_ / "out"));
  const auto rows = nlohmann::json::parse(ask(CacheVerb::ls, true));
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["bytes"], 4);
  EXPECT_NE(ask(CacheVerb::ls).find(to_hex(sha256("b")) + "\n"), std::string::npos);
  EXPECT_EQ(ask(CacheVerb::stats).find("2 builds, 8 bytes; 1 precompiled headers, 4 bytes; oldest use 20"), 0u)
      << ask(CacheVerb::stats);
  fs::permissions(*entry + "/module.so", fs::perms::owner_all);
  std::ofstream(*entry + "/module.so") << "evil";
  const CacheAnswer answer = ask_cache(cache_, CacheVerb::verify, 0, true);
  EXPECT_FALSE(answer.is_sound);
  EXPECT_EQ(nlohmann::json::parse(answer.text)["damaged"], nlohmann::json::array({to_hex(sha256("a"))}));
  EXPECT_EQ(ask(CacheVerb::prune), "2 entries are removed\n");
}

}  // namespace
}  // namespace kq::worker
