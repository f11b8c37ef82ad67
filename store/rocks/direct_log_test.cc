#include "store/rocks/direct_log.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "store/rocks/direct_file.h"
#include "store/temporary_directory.h"

namespace kq::store {
namespace {

namespace fs = std::filesystem;

class DirectLogs : public testing::Test {
 protected:
  std::unique_ptr<rocksdb::FSWritableFile> open(const std::string& name) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    EXPECT_TRUE(with_direct_logs(rocksdb::FileSystem::Default())->NewWritableFile(path(name), {}, &file, nullptr).ok());
    return file;
  }
  std::string path(const std::string& name) const { return directory_.path() + "/" + name; }
  std::string content(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const TemporaryDirectory directory_;
};

TEST_F(DirectLogs, are_read_as_they_are_written_and_end_where_they_were_closed) {
  const auto log = open("1.log");
  std::string all;
  for (const std::size_t bytes : {1u, 5'000u, 300'000u, 7u}) {
    const std::string record(bytes, static_cast<char>('a' + all.size() % 26));
    ASSERT_TRUE(log->Append(record, {}, nullptr).ok());
    all += record;
    ASSERT_TRUE(log->Sync({}, nullptr).ok());
    // Whoever reads beside the writer, through the page cache, sees it at once.
    EXPECT_EQ(content("1.log").substr(0, all.size()), all);
  }
  EXPECT_LT(fs::file_size(path("1.log")), all.size() + DirectFile::kBlockBytes);
  ASSERT_TRUE(log->Close({}, nullptr).ok());
  EXPECT_EQ(content("1.log"), all);
}

TEST_F(DirectLogs, have_room_in_whole_blocks_alone) {
  std::ofstream(path("0")).close();
  if (DirectFile::open(path("0")) == nullptr) GTEST_SKIP() << "this file system cannot write past its page cache";
  const auto log = open("1.log");
  alignas(DirectFile::kBlockBytes) static char zeros[2 * DirectFile::kBlockBytes];
  ASSERT_TRUE(log->Append("one", {}, nullptr).ok());
  EXPECT_FALSE(log->PositionedAppend({zeros, sizeof zeros}, 3, {}, nullptr).ok());
  EXPECT_TRUE(log->PositionedAppend({zeros, sizeof zeros}, DirectFile::kBlockBytes, {}, nullptr).ok());
  EXPECT_EQ(fs::file_size(path("1.log")), 3 * DirectFile::kBlockBytes);
  ASSERT_TRUE(log->Append("two", {}, nullptr).ok());
  ASSERT_TRUE(log->Close({}, nullptr).ok());
  EXPECT_EQ(content("1.log"), "onetwo");
}

TEST_F(DirectLogs, are_logs_alone) {
  const auto table = open("1.sst");
  ASSERT_TRUE(table->Append("one", {}, nullptr).ok());
  ASSERT_TRUE(table->Close({}, nullptr).ok());
  EXPECT_EQ(fs::file_size(path("1.sst")), 3u);
}

}  // namespace
}  // namespace kq::store
