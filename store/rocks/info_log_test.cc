#include "store/rocks/info_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "store/temporary_directory.h"

namespace kq::store {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

std::string content(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class InfoLogTest : public testing::Test {
 protected:
  const TemporaryDirectory directory;
  const std::filesystem::path log = std::filesystem::path(directory.path()) / "LOG";
};

TEST_F(InfoLogTest, writes_warnings_with_their_time_and_drops_lower_levels) {
  const auto logger = open_info_log(directory.path());
  rocksdb::Log(rocksdb::InfoLogLevel::INFO_LEVEL, logger, "flushed");
  rocksdb::Log(rocksdb::InfoLogLevel::WARN_LEVEL, logger, "stalled for %d ms", 7);
  EXPECT_THAT(content(log), EndsWith("Z [WARN] stalled for 7 ms\n"));
  EXPECT_THAT(content(log), testing::Not(HasSubstr("flushed")));
}

TEST_F(InfoLogTest, keeps_the_previous_log_and_limits_the_size_of_both) {
  const std::string line(1000, 'x');
  const auto logger = open_info_log(directory.path());
  for (std::size_t bytes = 0; bytes < 3 * kInfoLogBytesMax; bytes += line.size()) {
    rocksdb::Log(rocksdb::InfoLogLevel::WARN_LEVEL, logger, "%s", line.c_str());
  }
  EXPECT_LE(std::filesystem::file_size(log), kInfoLogBytesMax + 2 * line.size());
  EXPECT_LE(std::filesystem::file_size(log.string() + ".old"), kInfoLogBytesMax + 2 * line.size());
}

TEST_F(InfoLogTest, drops_lines_that_cannot_be_written) {
  const auto logger = open_info_log("/dev/full");
  for (int i = 0; i < 3; ++i) rocksdb::Log(rocksdb::InfoLogLevel::WARN_LEVEL, logger, "line");
}

}  // namespace
}  // namespace kq::store
