#include "tools/check/inputs.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

namespace kq::tools {
namespace {

namespace fs = std::filesystem;

class InputsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("kq-inputs-" + std::to_string(::getpid()));
    fs::remove_all(root_);
    for (const char* path :
         {"b.py", "a.cu", "a.cuh", "notes.txt", "lib.so", "sub/c.py", ".git/d.py", "__pycache__/e.py"}) {
      fs::create_directories((root_ / path).parent_path());
      std::ofstream(root_ / path) << path;
    }
  }
  void TearDown() override { fs::remove_all(root_); }
  fs::path root_;
};

TEST_F(InputsTest, a_folder_gives_its_sources_in_order) {
  const auto found = find_inputs({root_.string()});
  ASSERT_TRUE(found) << found.error().message;
  std::string names;
  for (const InputFile& file : *found) names += fs::relative(file.path, root_).string() + " ";
  EXPECT_EQ(names, "a.cu a.cuh b.py sub/c.py ");
}

TEST_F(InputsTest, a_named_file_is_accepted_whatever_its_ending) {
  const auto found = find_inputs({(root_ / "notes.txt").string(), "-"});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->size(), 2u);
  EXPECT_FALSE(find_inputs({(root_ / "gone.py").string()}));
}

TEST_F(InputsTest, a_file_is_read_up_to_its_limit) {
  EXPECT_EQ(*read_input((root_ / "b.py").string(), 4), "b.py");
  EXPECT_FALSE(read_input((root_ / "b.py").string(), 3));
  EXPECT_FALSE(read_input(root_.string(), 100));
}

TEST_F(InputsTest, headers_are_those_beside_the_source) {
  const auto headers = headers_beside((root_ / "a.cu").string());
  ASSERT_EQ(headers.size(), 1u);
  EXPECT_EQ(headers[0].path, "a.cuh");
}

}  // namespace
}  // namespace kq::tools
