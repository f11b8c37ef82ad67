#include "producer/formats/file_ref.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "core/limits.h"
#include "producer/formats/test_folder.h"

namespace kq::producer {
namespace {

class FileRefTest : public testing::Test {
 protected:
  std::string error_text(std::string_view name) const {
    const auto text = contents(file_ref(folder_ / name));
    if (text) return "accepted";
    EXPECT_EQ(text.error().kind, ErrorKind::bad_input);
    const std::string prefix = (folder_ / "").string();
    return text.error().message.starts_with(prefix) ? text.error().message.substr(prefix.size()) : text.error().message;
  }
  TestFolder folder_;
};

TEST_F(FileRefTest, reads_a_file_as_it_is) {
  const FileRef file = file_ref(folder_.write("a/add.py", "x = 1\r\n\xFF"));
  EXPECT_EQ(file.name, "add.py");
  EXPECT_EQ(contents(file), "x = 1\r\n\xFF");
  EXPECT_EQ(contents(FileRef{"add.py", "in.jsonl", "y = 2"}), "y = 2");
}

TEST_F(FileRefTest, a_huge_file_is_refused_before_it_is_read) {
  std::filesystem::resize_file(folder_.write("big.py", ""), 100u << 20);  // a sparse file
  EXPECT_EQ(error_text("big.py"), "big.py is 104857600 bytes, a source may have 1048576");
}

TEST_F(FileRefTest, the_limit_itself_is_allowed) {
  folder_.write("full.py", std::string(kFileBytesMax, 'x'));
  EXPECT_EQ(error_text("full.py"), "accepted");
  EXPECT_FALSE(contents(FileRef{"a", "a", std::string(kFileBytesMax + 1, 'x')}));
}

TEST_F(FileRefTest, refuses_content_that_is_no_source_text) {
  folder_.write("empty.py", "");
  folder_.write("blank.py", " \n\t\r\n");
  folder_.write("binary.py", std::string_view("\x7f"
                                              "ELF\0\0",
                                              6));
  EXPECT_EQ(error_text("empty.py"), "empty.py is empty");
  EXPECT_EQ(error_text("blank.py"), "blank.py is empty");
  EXPECT_EQ(error_text("binary.py"), "binary.py is no source text: it holds NUL bytes");
  EXPECT_TRUE(is_blank(file_ref(folder_ / "empty.py")) && is_blank(file_ref(folder_ / "blank.py")));
  EXPECT_FALSE(is_blank(file_ref(folder_ / "binary.py")) || is_blank(file_ref(folder_ / "gone.py")));
  EXPECT_TRUE(is_blank({.name = "text.py", .path = "here:1", .text = "\n"}));
}

TEST_F(FileRefTest, refuses_a_path_that_is_no_file_without_blocking) {
  ASSERT_EQ(mkfifo((folder_ / "pipe.py").c_str(), 0600), 0);
  EXPECT_EQ(error_text("pipe.py"), "pipe.py is no regular file");
  std::filesystem::create_directory(folder_ / "dir.py");
  EXPECT_EQ(error_text("dir.py"), "dir.py is a directory, a file is needed");
  EXPECT_EQ(error_text("gone.py"), "gone.py: No such file or directory");
  EXPECT_FALSE(is_file(folder_ / "pipe.py"));
  EXPECT_FALSE(is_file(folder_ / "gone.py"));
}

}  // namespace
}  // namespace kq::producer
