#include "store/rocks/direct_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "store/temporary_directory.h"

namespace kq::store {
namespace {

class DirectFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::ofstream(path_).close();
    file_ = DirectFile::open(path_);
    if (!file_) GTEST_SKIP() << "this file system cannot write past its page cache";
  }
  std::string content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  // As the disk has it: zeros up to the end of the block.
  static std::string in_blocks(std::string bytes) {
    bytes.resize(DirectFile::whole_blocks(bytes.size()));
    return bytes;
  }

  const TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/file";
  std::unique_ptr<DirectFile> file_;
};

TEST_F(DirectFileTest, appends_of_any_length_stand_one_behind_the_other) {
  std::string all;
  char letter = 'a';
  EXPECT_EQ(content(), std::string(DirectFile::kBlockBytes, '\0'));
  for (const std::size_t n : {1u, 4'095u, 1u, 4'096u, 10'000u, 3u << 20, 0u, 5u, 4'090u}) {
    const std::string bytes(n, letter++);
    ASSERT_TRUE(file_->append(bytes));
    all += bytes;
    EXPECT_EQ(file_->end(), all.size());
    EXPECT_TRUE(content() == in_blocks(all)) << n;
  }
}

TEST_F(DirectFileTest, what_is_written_ahead_is_written_over) {
  alignas(DirectFile::kBlockBytes) static char zeros[1u << 20];
  ASSERT_TRUE(file_->append("one"));
  ASSERT_TRUE(file_->write_ahead({zeros, sizeof zeros}, DirectFile::kBlockBytes));
  EXPECT_EQ(content(), in_blocks("one") + std::string(sizeof zeros, '\0'));
  ASSERT_TRUE(file_->append("two"));
  EXPECT_EQ(content(), in_blocks("onetwo") + std::string(sizeof zeros, '\0'));
  EXPECT_FALSE(file_->write_ahead({zeros, sizeof zeros}, 6)) << "no whole block";
  EXPECT_FALSE(file_->write_ahead({zeros, 6}, DirectFile::kBlockBytes));
  EXPECT_FALSE(file_->write_ahead({zeros, sizeof zeros}, 0)) << "not behind the end";
}

TEST_F(DirectFileTest, a_file_that_is_not_there_is_not_made) {
  EXPECT_EQ(DirectFile::open(directory_.path() + "/other"), nullptr);
}

}  // namespace
}  // namespace kq::store
