#include "store/rocks/preallocation.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "store/keys.h"
#include "store/rocks/direct_file.h"
#include "store/rocks/direct_log.h"
#include "store/rocks/rocks_store.h"
#include "store/rocks/wal_tail.h"
#include "store/temporary_directory.h"

namespace kq::store {
namespace {

namespace fs = std::filesystem;

// Through the page cache, and past it.
class Room : public testing::TestWithParam<bool> {
 protected:
  std::unique_ptr<rocksdb::FSWritableFile> open(const std::string& name) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    const auto files =
        with_log_room(GetParam() ? with_direct_logs(rocksdb::FileSystem::Default()) : rocksdb::FileSystem::Default());
    EXPECT_TRUE(files->NewWritableFile(path(name), {}, &file, nullptr).ok());
    return file;
  }
  static void append(rocksdb::FSWritableFile& file, const std::string& bytes) {
    ASSERT_TRUE(file.Append(bytes, {}, nullptr).ok());
  }
  static void close(rocksdb::FSWritableFile& file) { ASSERT_TRUE(file.Close({}, nullptr).ok()); }
  std::string path(const std::string& name) const { return directory_.path() + "/" + name; }
  std::string content(const std::string& name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const TemporaryDirectory directory_;
};

TEST_P(Room, zeros_follow_a_small_write_until_the_log_is_closed) {
  const auto log = open("1.log");
  append(*log, "one");
  append(*log, "two");
  EXPECT_EQ(content("1.log"), "onetwo" + std::string(kLogRoomBytes - 6, '\0'));
  close(*log);
  EXPECT_EQ(content("1.log"), "onetwo");
}

TEST_P(Room, is_made_again_when_it_is_used_up) {
  const auto log = open("1.log");
  const std::string bytes(1'000, 'x');
  std::string all;
  while (all.size() <= kLogRoomBytes) {
    append(*log, bytes);
    all += bytes;
  }
  EXPECT_EQ(fs::file_size(path("1.log")), 2 * kLogRoomBytes);
  close(*log);
  EXPECT_EQ(content("1.log"), all);
}

TEST_P(Room, is_not_made_for_long_writes) {
  const auto log = open("1.log");
  append(*log, std::string(kLogRoomBytes / 2, 'x'));
  EXPECT_EQ(fs::file_size(path("1.log")), kLogRoomBytes / 2);
  append(*log, "y");
  EXPECT_EQ(fs::file_size(path("1.log")), kLogRoomBytes / 2 + kLogRoomBytes);
  append(*log, std::string(2 * kLogRoomBytes, 'z'));
  const std::size_t bytes = kLogRoomBytes / 2 + 1 + 2 * kLogRoomBytes;
  EXPECT_GE(fs::file_size(path("1.log")), bytes);
  EXPECT_LE(fs::file_size(path("1.log")), DirectFile::whole_blocks(bytes));
  close(*log);
}

TEST_P(Room, is_not_made_in_other_files) {
  const auto table = open("1.sst");
  append(*table, "one");
  EXPECT_EQ(content("1.sst"), "one");
  close(*table);
}

TEST_P(Room, of_a_store_that_was_killed_is_the_end_of_its_log) {
  const auto store = open_rocks_store(path("store"), OpenMode::read_write).value();
  for (Sequence seq = 1; seq <= 3; ++seq) {
    const Write write{Family::state, sequence_key(seq), std::to_string(seq)};
    ASSERT_TRUE(store->commit({&write, 1}));
  }
  fs::copy(path("store"), path("copy"));
  std::string log;
  for (const auto& entry : fs::directory_iterator(path("copy"))) {
    if (entry.path().extension() == ".log") log = entry.path();
  }
  EXPECT_EQ(fs::file_size(log), kLogRoomBytes);
  EXPECT_NE(look_at_log(log, LogCheck::checksums).value().ending, LogEnding::damaged);
  const auto copy = open_rocks_store(path("copy"), OpenMode::read_write).value();
  for (Sequence seq = 1; seq <= 3; ++seq)
    EXPECT_EQ(copy->get(Family::state, sequence_key(seq)).value(), std::to_string(seq));
}

// The last record's first half, and room: what is left of a writer that was killed within a write.
TEST_P(Room, a_record_that_was_written_in_part_is_not_there_for_who_only_reads) {
  const std::string dir = path("store");
  {
    auto store = open_rocks_store(dir, OpenMode::read_write);
    ASSERT_TRUE(store);
    for (const std::string key : {"one", "two"}) {
      const Write write{Family::state, key, std::string(300, 'x')};
      ASSERT_TRUE((*store)->commit({&write, 1}));
    }
    fs::create_directory(path("copy"));
    for (const auto& file : fs::directory_iterator(dir)) {
      if (file.is_regular_file()) fs::copy_file(file, path("copy") + "/" + file.path().filename().string());
    }
  }
  std::string log;
  for (const auto& file : fs::directory_iterator(path("copy"))) {
    if (file.path().extension() == ".log" && file.path().string() > log) log = file.path();
  }
  const auto state = look_at_log(log, LogCheck::checksums);
  ASSERT_TRUE(state);
  std::fstream bytes(log, std::ios::binary | std::ios::in | std::ios::out);
  bytes.seekp(static_cast<std::streamoff>(state->good_bytes) - 150);
  bytes << std::string(150, '\0');
  bytes.close();
  const auto reader = open_rocks_store(path("copy"), OpenMode::read_only);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_TRUE((*reader)->get(Family::state, "one").value());
  EXPECT_FALSE((*reader)->get(Family::state, "two").value());
}

INSTANTIATE_TEST_SUITE_P(Logs, Room, testing::Values(false, true),
                         [](const auto& one) { return one.param ? "direct" : "cached"; });

}  // namespace
}  // namespace kq::store
