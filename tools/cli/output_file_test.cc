#include "tools/cli/output_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace kq::tools {
namespace {

namespace fs = std::filesystem;

class OutputFileTest : public ::testing::Test {
 protected:
  OutputFileTest() {
    std::string name = (fs::temp_directory_path() / "kq-output.XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~OutputFileTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string content(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(path(name)).rdbuf();
    return text.str();
  }
  std::size_t file_count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  fs::path folder_;
};

TEST_F(OutputFileTest, appears_when_it_is_committed) {
  auto file = OutputFile::open(path("a.csv"));
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->write("one\n"));
  EXPECT_FALSE(fs::exists(path("a.csv")));
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(content("a.csv"), "one\n");
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(OutputFileTest, without_commit_the_old_file_stays_and_no_temporary_file_is_left) {
  std::ofstream(path("a.csv")) << "old";
  {
    auto file = OutputFile::open(path("a.csv"));
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(std::string(1 << 20, 'x')));
  }
  EXPECT_EQ(content("a.csv"), "old");
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(OutputFileTest, the_temporary_file_of_a_killed_writer_is_overwritten) {
  std::ofstream(path(".a.csv.partial")) << "half of a much longer li";
  auto file = OutputFile::open(path("a.csv"));
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(file->write("one\n"));
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(content("a.csv"), "one\n");
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(OutputFileTest, two_writers_of_one_target_are_refused) {
  {
    auto first = OutputFile::open(path("a.csv"));
    ASSERT_TRUE(first);
    const auto second = OutputFile::open(path("a.csv"));
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().kind, ErrorKind::bad_input);
    EXPECT_NE(second.error().message.find("a.csv is being written by another process"), std::string::npos)
        << second.error().message;
    ASSERT_TRUE(first->commit());
  }
  EXPECT_TRUE(OutputFile::open(path("a.csv")));
}

TEST_F(OutputFileTest, has_the_mode_that_the_umask_leaves) {
  const mode_t before = ::umask(027);
  ASSERT_TRUE(OutputFile::open(path("a.csv"))->commit());
  ::umask(before);
  EXPECT_EQ(fs::status(path("a.csv")).permissions(), fs::perms(0640));
}

TEST_F(OutputFileTest, a_device_is_written_to_and_stays_a_device) {
  const std::string device = path("null");
  fs::create_symlink("/dev/null", device);
  auto file = OutputFile::open(device);
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_TRUE(file->write("gone\n"));
  ASSERT_TRUE(file->commit());
  EXPECT_TRUE(fs::is_character_file(device));
  EXPECT_EQ(file_count(), 1u);
}

TEST_F(OutputFileTest, a_path_that_cannot_be_written_is_bad_input) {
  EXPECT_EQ(OutputFile::open(folder_.string()).error().kind, ErrorKind::bad_input);
  EXPECT_EQ(OutputFile::open(path("gone/a.csv")).error().kind, ErrorKind::bad_input);
  EXPECT_EQ(OutputFile::open("").error().kind, ErrorKind::bad_input);
}

TEST_F(OutputFileTest, a_path_with_letters_behind_a_dot_ends_as_a_file) {
  for (const char* name : {"a.txt", "out/a.csv.gz", "a.HTML"}) EXPECT_TRUE(ends_as_a_file(name)) << name;
  for (const char* name : {"a", "v0.2", "a.b/c", "-", ".", "..", ".hidden"}) EXPECT_FALSE(ends_as_a_file(name)) << name;
  fs::create_directory(path("a.d"));
  EXPECT_FALSE(ends_as_a_file(path("a.d")));
}

TEST(OutputFileName, a_run_keeps_its_name_but_for_slashes_and_a_first_dot_or_dash) {
  EXPECT_EQ(default_file_name("monday", ".html"), "monday.html");
  EXPECT_EQ(default_file_name("my run/\u00e9 x", "-speedups.svg"), "my run-\u00e9 x-speedups.svg");
  EXPECT_EQ(default_file_name("-o", ".html"), "run-o.html");
  EXPECT_EQ(default_file_name("../x", ".html"), "run..-x.html");
}

}  // namespace
}  // namespace kq::tools
