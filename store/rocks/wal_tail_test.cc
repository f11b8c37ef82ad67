#include "store/rocks/wal_tail.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "store/rocks/rocks_store.h"
#include "store/temporary_directory.h"

namespace kq::store {
namespace {

namespace fs = std::filesystem;

// A log written by RocksDB: records of a few hundred bytes, one of several blocks, and a few more. `ends` holds the
// size of the file after each.
class WalTail : public testing::Test {
 protected:
  void SetUp() override {
    const std::string dir = directory.path() + "/store";
    const auto store = open_rocks_store(dir, OpenMode::read_write, {.space = {.reserve_bytes = 0}});
    ASSERT_TRUE(store);
    fs::path log;
    for (const auto& entry : fs::directory_iterator(dir)) {
      if (entry.path().extension() == ".log") log = entry.path();
    }
    for (const std::size_t size : {300u, 300u, 80'000u, 300u, 300u}) {
      const Write write{Family::state, "key", std::string(size, 'x')};
      ASSERT_TRUE((*store)->commit({&write, 1}));
      ends.push_back(look_at_log(log, LogCheck::headers).value().good_bytes);
    }
    std::ostringstream text;
    text << std::ifstream(log, std::ios::binary).rdbuf();
    bytes = text.str().substr(0, ends.back());
  }

  LogState look(const std::string& content, LogCheck check = LogCheck::checksums) {
    std::ofstream(directory.path() + "/log", std::ios::binary) << content;
    return look_at_log(directory.path() + "/log", check).value();
  }

  std::string zeroed(std::size_t at, std::size_t n) const {
    std::string content = bytes;
    content.replace(at, n, std::string(n, '\0'));
    return content;
  }

  const TemporaryDirectory directory;
  std::string bytes;
  std::vector<std::size_t> ends;
};

TEST_F(WalTail, a_log_of_rocksdb_is_whole_whichever_way_it_is_checked) {
  for (const LogCheck check : {LogCheck::headers, LogCheck::checksums}) {
    EXPECT_EQ(look(bytes, check), (LogState{LogEnding::whole, bytes.size()}));
  }
  EXPECT_EQ(look(""), (LogState{LogEnding::whole, 0}));
}

TEST_F(WalTail, zeros_after_the_last_record_are_preallocated_space) {
  for (const LogCheck check : {LogCheck::headers, LogCheck::checksums}) {
    EXPECT_EQ(look(bytes + std::string(100'000, '\0'), check), (LogState{LogEnding::whole, bytes.size()}));
  }
}

TEST_F(WalTail, a_record_of_several_blocks_that_ends_in_zeros_is_torn) {
  const std::string cut = bytes.substr(0, ends[1] + 40'000);
  EXPECT_EQ(look(cut + std::string(100'000, '\0')), (LogState{LogEnding::torn, ends[1]}));
}

TEST_F(WalTail, a_log_cut_anywhere_is_whole_up_to_its_last_complete_record) {
  for (std::size_t size = ends[0]; size < bytes.size(); size += 97) {
    std::size_t good = 0;
    for (const std::size_t end : ends) good = end <= size ? end : good;
    EXPECT_EQ(look(bytes.substr(0, size)), (LogState{LogEnding::whole, good})) << size;
  }
}

TEST_F(WalTail, a_last_record_with_a_sector_missing_is_torn) {
  EXPECT_EQ(look(zeroed(ends[3] + 50, 100)), (LogState{LogEnding::torn, ends[3]}));
  EXPECT_EQ(look(zeroed(ends[3], 100)), (LogState{LogEnding::torn, ends[3]}));
  // A record of several blocks with the first, the second or the third missing.
  for (const std::size_t at : {ends[1], std::size_t{40'000}, ends[2] - 100}) {
    EXPECT_EQ(look(zeroed(at, 100).substr(0, ends[2])), (LogState{LogEnding::torn, ends[1]})) << at;
  }
}

TEST_F(WalTail, a_flipped_bit_before_the_last_record_is_damage_wherever_it_is) {
  for (std::size_t at = 0; at < ends[3]; at += at < 1000 ? 1 : 1009) {
    std::string content = bytes;
    content[at] = static_cast<char>(content[at] ^ 0x10);
    EXPECT_EQ(look(content).ending, LogEnding::damaged) << at;
  }
}

TEST_F(WalTail, a_page_of_zeros_before_the_last_record_is_damage_that_headers_alone_show) {
  EXPECT_EQ(look(zeroed(ends[0], ends[1] - ends[0]), LogCheck::headers), (LogState{LogEnding::damaged, ends[0]}));
}

TEST_F(WalTail, a_length_that_leads_past_the_end_hides_no_record) {
  std::string content = bytes;
  content[ends[2] + 5] = '\x10';
  EXPECT_EQ(look(content, LogCheck::headers), (LogState{LogEnding::damaged, ends[2]}));
}

// A process that closes a log truncates its preallocated space, possibly while another process reads the log.
TEST_F(WalTail, preallocated_space_may_change_while_the_log_is_read) {
  const std::string log = directory.path() + "/log";
  std::ofstream(log, std::ios::binary) << bytes;
  std::atomic<bool> done = false;
  std::jthread writer([&] {
    while (!done) {
      fs::resize_file(log, bytes.size() + 1'000'000);
      fs::resize_file(log, bytes.size());
    }
  });
  for (int i = 0; i < 1'000; ++i)
    EXPECT_EQ(look_at_log(log, LogCheck::headers).value(), (LogState{LogEnding::whole, bytes.size()}));
  done = true;
}

TEST_F(WalTail, a_missing_file_is_an_error) {
  EXPECT_EQ(look_at_log("/no/such/log", LogCheck::headers).error().message,
            "/no/such/log: cannot be read: No such file or directory");
}

TEST(NewestLog, has_the_highest_number_however_many_digits_it_has) {
  const TemporaryDirectory directory;
  EXPECT_EQ(newest_log(directory.path()), "");
  for (const char* name : {"/000009.log", "/999999.log", "/1000000.log", "/1000001.sst"})
    std::ofstream(directory.path() + name).close();
  EXPECT_EQ(newest_log(directory.path()), directory.path() + "/1000000.log");
}

}  // namespace
}  // namespace kq::store
