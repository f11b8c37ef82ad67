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
class WalTailTest : public testing::Test {
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
      ends.push_back(check_wal_tail(log, WalCheck::headers).value().good_bytes);
    }
    std::ostringstream text;
    text << std::ifstream(log, std::ios::binary).rdbuf();
    bytes = text.str().substr(0, ends.back());
  }

  WalState check(const std::string& content, WalCheck how = WalCheck::checksums) {
    std::ofstream(directory.path() + "/log", std::ios::binary) << content;
    return check_wal_tail(directory.path() + "/log", how).value();
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

TEST_F(WalTailTest, a_complete_log_is_whole_with_each_kind_of_check) {
  for (const WalCheck how : {WalCheck::headers, WalCheck::checksums}) {
    EXPECT_EQ(check(bytes, how), (WalState{WalTail::whole, bytes.size()}));
  }
  EXPECT_EQ(check(""), (WalState{WalTail::whole, 0}));
}

TEST_F(WalTailTest, zeros_after_the_last_record_are_preallocated_space) {
  for (const WalCheck how : {WalCheck::headers, WalCheck::checksums}) {
    EXPECT_EQ(check(bytes + std::string(100'000, '\0'), how), (WalState{WalTail::whole, bytes.size()}));
  }
}

TEST_F(WalTailTest, a_record_of_several_blocks_that_ends_in_zeros_is_torn) {
  const std::string cut = bytes.substr(0, ends[1] + 40'000);
  EXPECT_EQ(check(cut + std::string(100'000, '\0')), (WalState{WalTail::torn, ends[1]}));
}

TEST_F(WalTailTest, a_log_cut_anywhere_is_whole_up_to_its_last_complete_record) {
  for (std::size_t size = ends[0]; size < bytes.size(); size += 97) {
    std::size_t good = 0;
    for (const std::size_t end : ends) good = end <= size ? end : good;
    EXPECT_EQ(check(bytes.substr(0, size)), (WalState{WalTail::whole, good})) << size;
  }
}

TEST_F(WalTailTest, a_last_record_with_a_sector_missing_is_torn) {
  EXPECT_EQ(check(zeroed(ends[3] + 50, 100)), (WalState{WalTail::torn, ends[3]}));
  EXPECT_EQ(check(zeroed(ends[3], 100)), (WalState{WalTail::torn, ends[3]}));
  // A record of several blocks with the first, the second or the third missing.
  for (const std::size_t at : {ends[1], std::size_t{40'000}, ends[2] - 100}) {
    EXPECT_EQ(check(zeroed(at, 100).substr(0, ends[2])), (WalState{WalTail::torn, ends[1]})) << at;
  }
}

TEST_F(WalTailTest, a_flipped_bit_anywhere_before_the_last_record_is_damage) {
  for (std::size_t at = 0; at < ends[3]; at += at < 1000 ? 1 : 1009) {
    std::string content = bytes;
    content[at] = static_cast<char>(content[at] ^ 0x10);
    EXPECT_EQ(check(content).tail, WalTail::damaged) << at;
  }
}

TEST_F(WalTailTest, a_check_of_headers_finds_a_page_of_zeros_before_the_last_record) {
  EXPECT_EQ(check(zeroed(ends[0], ends[1] - ends[0]), WalCheck::headers), (WalState{WalTail::damaged, ends[0]}));
}

TEST_F(WalTailTest, a_length_past_the_end_of_the_file_before_the_last_record_is_damage) {
  std::string content = bytes;
  content[ends[2] + 5] = '\x10';
  EXPECT_EQ(check(content, WalCheck::headers), (WalState{WalTail::damaged, ends[2]}));
}

// A process that closes a log truncates its preallocated space, possibly while another process reads the log.
TEST_F(WalTailTest, preallocated_space_may_change_while_the_log_is_read) {
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
    EXPECT_EQ(check_wal_tail(log, WalCheck::headers).value(), (WalState{WalTail::whole, bytes.size()}));
  done = true;
}

TEST_F(WalTailTest, a_missing_file_is_an_error) {
  EXPECT_EQ(check_wal_tail("/no/such/log", WalCheck::headers).error().message,
            "/no/such/log: cannot be read: No such file or directory");
}

TEST(NewestLog, has_the_highest_number_also_with_more_than_six_digits) {
  const TemporaryDirectory directory;
  EXPECT_EQ(newest_log(directory.path()), "");
  for (const char* name : {"/000009.log", "/999999.log", "/1000000.log", "/1000001.sst"})
    std::ofstream(directory.path() + name).close();
  EXPECT_EQ(newest_log(directory.path()), directory.path() + "/1000000.log");
}

}  // namespace
}  // namespace kq::store
