#include "gpu_worker/machine/scratch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "sys/fd.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

class ScratchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    parent_ = fs::temp_directory_path() / ("kq-scratch-" + std::to_string(::getpid()));
    fs::remove_all(parent_);
  }
  void TearDown() override { fs::remove_all(parent_); }
  fs::path parent_;
};

TEST_F(ScratchTest, is_made_empty_and_removed) {
  std::string dir;
  {
    auto first = Scratch::make(parent_, "a", 0);
    ASSERT_TRUE(first);
    dir = first->dir();
    ASSERT_TRUE(first->put("x.py", "one"));
    EXPECT_EQ(*read_child_file(dir + "/src/x.py", 100), "one");
    EXPECT_TRUE(fs::is_directory(dir + "/work"));
  }
  EXPECT_FALSE(fs::exists(dir));
}

TEST_F(ScratchTest, is_removed_despite_deep_nesting_and_missing_permissions) {
  auto scratch = Scratch::make(parent_, "a", 0);
  ASSERT_TRUE(scratch);
  sys::Fd at(::open(scratch->out().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int depth = 0; depth < 25'000; ++depth) {
    ASSERT_EQ(::mkdirat(at.get(), "d", 0700), 0);
    at = sys::Fd(::openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_TRUE(at);
  }
  ASSERT_EQ(::symlinkat("/", at.get(), "root"), 0);
  at = sys::Fd();
  fs::create_directories(scratch->out() + "/locked/inner");
  fs::permissions(scratch->out() + "/locked", fs::perms::none);
  const std::string dir = scratch->dir();
  EXPECT_TRUE(scratch->remove());
  EXPECT_FALSE(fs::exists(dir));
}

TEST_F(ScratchTest, detects_when_it_holds_too_much) {
  const auto scratch = Scratch::make(parent_, "a", 0);
  ASSERT_TRUE(scratch);
  const std::string& dir = scratch->dir();
  const std::uint64_t kEmpty = 1 << 20;  // what directories may take
  EXPECT_FALSE(holds_more_than(dir, {.bytes = kEmpty, .entries = 3})) << "src, work, out";
  EXPECT_TRUE(holds_more_than(dir, {.bytes = kEmpty, .entries = 2}));
  fs::create_directories(dir + "/out/a/b");
  ASSERT_TRUE(scratch->put("x", std::string(2 << 20, 'x')));
  EXPECT_FALSE(holds_more_than(dir, {.bytes = 4 << 20, .entries = 6}));
  EXPECT_TRUE(holds_more_than(dir, {.bytes = 4 << 20, .entries = 5}));
  EXPECT_TRUE(holds_more_than(dir, {.bytes = 2 << 20, .entries = 6}));
  fs::resize_file(dir + "/src/x", 1ull << 33);
  fs::create_symlink("/", dir + "/out/root");
  EXPECT_FALSE(holds_more_than(dir, {.bytes = 4 << 20, .entries = 7}))
      << "holes do not count, and links are not followed";
  fs::permissions(dir + "/out/a", fs::perms::none);
  EXPECT_EQ(holds_more_than(dir, {.bytes = 4 << 20, .entries = 7}), ::geteuid() != 0)
      << "root can read the directory; others cannot and fail";
  fs::permissions(dir + "/out/a", fs::perms::owner_all);
  std::string deep = dir + "/work";
  for (int depth = 0; depth < kDirectoryDepthMax - 1; ++depth) fs::create_directory(deep += "/d");
  EXPECT_FALSE(holds_more_than(dir, {.bytes = 16 << 20, .entries = 100}));
  fs::create_directory(deep += "/d");
  EXPECT_TRUE(holds_more_than(dir, {.bytes = 16 << 20, .entries = 100}));
  EXPECT_FALSE(holds_more_than(dir + "/gone", {}));
}

TEST_F(ScratchTest, refuses_names_with_a_directory_and_a_second_file_of_one_name) {
  auto scratch = Scratch::make(parent_, "a", 0);
  ASSERT_TRUE(scratch);
  EXPECT_FALSE(scratch->put("../x", ""));
  EXPECT_FALSE(scratch->put("", ""));
  ASSERT_TRUE(scratch->put("x", ""));
  EXPECT_FALSE(scratch->put("x", ""));
}

TEST_F(ScratchTest, reading_a_childs_file_is_bounded_and_refuses_links_and_pipes) {
  auto scratch = Scratch::make(parent_, "a", 0);
  ASSERT_TRUE(scratch);
  ASSERT_TRUE(scratch->put("long", std::string(1000, 'x')));
  EXPECT_EQ(read_child_file(scratch->dir() + "/src/long", 10)->size(), 10u);
  const std::string link = scratch->out() + "/status";
  fs::create_symlink("/etc/passwd", link);
  EXPECT_FALSE(read_child_file(link, 10));
  const std::string fifo = scratch->out() + "/fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_FALSE(read_child_file(fifo, 10));
}

TEST_F(ScratchTest, a_built_file_replaces_a_submitted_file_of_its_name) {
  auto built = Scratch::make(parent_, "built", 0);
  auto scratch = Scratch::make(parent_, "a", 0);
  ASSERT_TRUE(built && scratch);
  ASSERT_TRUE(built->put("module.cubin", "compiled"));
  ASSERT_TRUE(scratch->put("module.cubin", "submitted"));
  ASSERT_TRUE(scratch->put_all(built->dir() + "/src"));
  EXPECT_EQ(*read_child_file(scratch->dir() + "/src/module.cubin", 100), "compiled");
}

TEST_F(ScratchTest, files_of_the_build_for_the_worker_are_not_copied) {
  auto built = Scratch::make(parent_, "built", 0);
  auto scratch = Scratch::make(parent_, "a", 0);
  ASSERT_TRUE(built && scratch);
  for (const char* name : {"facts", "message", "status", "log", "toolchain", "kq_extensions.json"})
    ASSERT_TRUE(built->put(name, "built"));
  for (const char* name : {"facts", "message"}) ASSERT_TRUE(scratch->put(name, "submitted"));
  ASSERT_TRUE(scratch->put_all(built->dir() + "/src"));
  EXPECT_EQ(*read_child_file(scratch->dir() + "/src/facts", 100), "submitted");
  EXPECT_EQ(*read_child_file(scratch->dir() + "/src/kq_extensions.json", 100), "built");
  EXPECT_FALSE(fs::exists(scratch->dir() + "/src/status"));
}

TEST_F(ScratchTest, a_problem_and_a_submission_may_have_the_same_file_name) {
  Lease lease;
  lease.submission.problem = {
      .name = "p", .file = "p.py", .hash = sha256("problem"), .precision = {}, .rtol = {}, .atol = {}};
  lease.submission.files = {{"p.py", sha256("submission")}};
  lease.blobs = {{sha256("problem"), "problem"}, {sha256("submission"), "submission"}};
  auto scratch = Scratch::make(parent_, "a", 0);
  ASSERT_TRUE(scratch);
  ASSERT_TRUE(put_sources(*scratch, lease, true));
  EXPECT_EQ(*read_child_file(scratch->dir() + "/src/p.py", 100), "submission");
  EXPECT_EQ(*read_child_file(scratch->dir() + "/src/" + problem_file(lease), 100), "problem");
}

TEST_F(ScratchTest, a_lease_without_its_blob_is_our_fault) {
  Lease lease;
  lease.submission.problem = {
      .name = "p", .file = "p.py", .hash = sha256("p"), .precision = {}, .rtol = {}, .atol = {}};
  auto scratch = Scratch::make(parent_, "a", 0);
  ASSERT_TRUE(scratch);
  const auto put = put_sources(*scratch, lease, true);
  ASSERT_FALSE(put);
  EXPECT_EQ(put.error().kind, ErrorKind::our_fault);
  lease.blobs.push_back({sha256("p"), "p"});
  EXPECT_TRUE(put_sources(*scratch, lease, true));
}

TEST(scratch, directories_without_permissions_are_removed) {
  const auto root = std::filesystem::temp_directory_path() / ("kq-scratch-locked-" + std::to_string(::getpid()));
  auto scratch = Scratch::make(root, "child", 0);
  ASSERT_TRUE(scratch);
  const std::filesystem::path locked = std::filesystem::path(scratch->dir()) / "work" / "locked";
  std::filesystem::create_directories(locked / "inner");
  std::filesystem::permissions(locked / "inner", std::filesystem::perms::none);
  std::filesystem::permissions(locked, std::filesystem::perms::none);
  EXPECT_TRUE(scratch->remove());
  EXPECT_TRUE(std::filesystem::is_empty(root));
  EXPECT_TRUE(scratch->remove()) << "a second call does nothing";
  std::filesystem::remove_all(root);
}

TEST(names_any, looks_in_the_files_of_the_submission_and_in_that_of_its_problem) {
  Lease lease;
  lease.submission.files = {{.name = "kernel.py", .hash = sha256("a kernel")}};
  lease.submission.problem.hash = sha256("its problem");
  lease.blobs = {{sha256("a kernel"), "a kernel"}, {sha256("its problem"), "its problem"}};
  EXPECT_TRUE(names_any(lease, {"other", "kernel"}));
  EXPECT_TRUE(names_any(lease, {"problem"}));
  EXPECT_FALSE(names_any(lease, {"other"}));
  EXPECT_FALSE(names_any(lease, {}));
}

}  // namespace
}  // namespace kq::worker
