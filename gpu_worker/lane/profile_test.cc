#include "gpu_worker/lane/profile.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/testing/examples.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

void write(const fs::path& path, const std::string& text) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

class ProfileTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(out());
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path out() const { return folder_ / "out"; }
  fs::path kept() const { return folder_ / "profiles"; }
  Profile collect() const {
    Lease lease{.id = {.seq = 42, .attempt = 2},
                .run = "nightly",
                .submission = examples::submission(),
                .blobs = {},
                .device = {}};
    lease.submission.label = "../../add fast";
    return collect_profile(out(), kept(), lease);
  }

  const fs::path folder_ = fs::temp_directory_path() / ("kq-profile-" + std::to_string(::getpid()));
};

TEST_F(ProfileTest, metrics_are_read_and_files_are_kept_in_a_directory_of_the_job) {
  write(out() / "metrics.json", R"json({"tool": "ncu 2025.3.1.0", "message": "", "kernels": [
        {"kernel": "add(float*)", "metrics": {"a.b_pct": 1.5, "c.d": 7}}, {"kernel": "sub", "metrics": {}}]})json");
  write(out() / "report.ncu-rep", std::string("\0\1bytes", 7));
  const Profile profile = collect();
  EXPECT_EQ(profile.tool, "ncu 2025.3.1.0");
  EXPECT_EQ(profile.message, "");
  EXPECT_EQ(profile.kernels,
            (std::vector<KernelProfile>{{"add(float*)", {{"a.b_pct", 1.5}, {"c.d", 7}}}, {"sub", {}}}));
  EXPECT_EQ(profile.directory, (kept() / "nightly" / "_._.._add_fast-42-2").string());
  EXPECT_EQ(fs::file_size(profile.directory + "/report.ncu-rep"), 7u);
  EXPECT_FALSE(fs::exists(profile.directory + "/details.txt"));
}

TEST_F(ProfileTest, the_reports_of_all_benchmarks_of_an_eval_program_are_kept) {
  write(out() / "metrics.json", R"({"tool": "ncu", "message": "", "kernels": []})");
  for (const char* name : {"report.ncu-rep", "report.1.ncu-rep", "report.12.ncu-rep", "result.json"})
    write(out() / name, "report");
  const Profile profile = collect();
  EXPECT_TRUE(fs::exists(profile.directory + "/report.1.ncu-rep"));
  EXPECT_TRUE(fs::exists(profile.directory + "/report.12.ncu-rep"));
  EXPECT_FALSE(fs::exists(profile.directory + "/result.json"));
}

TEST_F(ProfileTest, a_file_that_is_too_large_is_not_kept_and_named) {
  write(out() / "metrics.json", R"({"tool": "ncu", "message": "", "kernels": []})");
  write(out() / "details.txt", "details");
  write(out() / "report.ncu-rep", "");
  fs::resize_file(out() / "report.ncu-rep", (256ull << 20) + 1);
  const Profile profile = collect();
  EXPECT_EQ(profile.message, "report.ncu-rep was not kept: it is larger than 256 MiB");
  EXPECT_FALSE(fs::exists(profile.directory + "/report.ncu-rep"));
  EXPECT_EQ(fs::file_size(profile.directory + "/details.txt"), 7u);
}

TEST_F(ProfileTest, a_child_without_files_gives_a_message) {
  EXPECT_EQ(collect().message, "the profiler ended before it had written its metrics");
}

TEST_F(ProfileTest, files_of_a_hostile_child_are_bounded_and_links_are_not_followed) {
  std::string many = R"({"tool": 7, "message": "a\u0007b", "kernels": [)";
  for (std::size_t i = 0; i < kProfiledKernelsMax + 3; ++i) {
    many += std::string(i == 0 ? "" : ",") + R"({"kernel": "k", "metrics": {"text": "x", "new\nline": 1)";
    for (std::size_t m = 0; m < kProfileMetricsMax + 3; ++m) many += ", \"m" + std::to_string(m) + "\": 1";
    many += "}}";
  }
  write(out() / "metrics.json", many + ", 5]}");
  write(folder_ / "secret", "secret");
  fs::create_symlink(folder_ / "secret", out() / "details.txt");
  ASSERT_EQ(::mkfifo((out() / "report.ncu-rep").c_str(), 0600), 0);
  const Profile profile = collect();
  EXPECT_EQ(profile.tool, "");
  EXPECT_EQ(profile.message, "a?b");
  ASSERT_EQ(profile.kernels.size(), kProfiledKernelsMax);
  EXPECT_EQ(profile.kernels[0].metrics.size(), kProfileMetricsMax);
  EXPECT_EQ(profile.kernels[0].metrics[0].name, "m0");
  EXPECT_FALSE(fs::exists(profile.directory + "/details.txt"));
  EXPECT_FALSE(fs::exists(profile.directory + "/report.ncu-rep"));
}

TEST_F(ProfileTest, a_directory_that_grows_beyond_its_limits_overflows) {
  EXPECT_FALSE(is_overflowing(folder_ / "missing"));
  write(out() / "report.ncu-rep", "report");
  fs::create_symlink("/", out() / "all");
  EXPECT_FALSE(is_overflowing(out()));
  fs::resize_file(out() / "report.ncu-rep", (1ull << 30) + 1);
  EXPECT_TRUE(is_overflowing(out()));
  fs::resize_file(out() / "report.ncu-rep", 0);
  EXPECT_FALSE(is_overflowing(out()));
  for (int i = 0; i < 70; ++i) write(out() / "deep" / std::to_string(i), "");
  EXPECT_TRUE(is_overflowing(out()));
}

TEST_F(ProfileTest, deep_or_broken_json_is_rejected) {
  write(out() / "metrics.json", std::string(100'000, '['));
  EXPECT_EQ(collect().message, "the profiler ended before it had written its metrics");
}

TEST_F(ProfileTest, the_ncu_of_the_environment_comes_first_and_must_be_executable) {
  const std::string named = folder_ / "my-ncu";
  write(named, "#!/bin/sh\n");
  ::setenv("KQ_NCU", named.c_str(), 1);
  EXPECT_EQ(find_ncu(), "") << "the file is not executable";
  fs::permissions(named, fs::perms::owner_all);
  EXPECT_EQ(find_ncu(), named);
  ::unsetenv("KQ_NCU");
}

}  // namespace
}  // namespace kq::worker
