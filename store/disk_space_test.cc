#include "store/disk_space.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "core/base/check.h"
#include "store/keys.h"
#include "store/rocks/rocks_store.h"
#include "store/temporary_directory.h"

namespace kq::store {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::uint64_t kMegabyte = 1u << 20;
constexpr SpaceMarks kMarks{.reserve_bytes = 8 * kMegabyte, .low_bytes = 16 * kMegabyte};

// A file system of 64 MB. Mounting it needs privileges.
class SmallDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (mount("tmpfs", directory.path().c_str(), "tmpfs", 0, size_) != 0) {
      GTEST_SKIP() << "a small disk cannot be mounted here; run as root";
    }
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) umount2(directory.path().c_str(), MNT_DETACH);
  }

  // Fills the disk with a file of another program, except for `left` bytes.
  void fill_all_but(std::uint64_t left) {
    const int fd = ::open(filler().c_str(), O_WRONLY | O_CREAT, 0600);
    KQ_CHECK(fd >= 0);
    const std::uint64_t free = free_bytes(directory.path()).value();
    KQ_CHECK(free > left);
    const auto size = static_cast<off_t>(fs::file_size(filler()));
    KQ_CHECK(fallocate(fd, 0, size, static_cast<off_t>(free - left)) == 0);
    close(fd);
  }
  void clear() { fs::remove(filler()); }

  bool reserved() const { return fs::exists(fs::path(dir) / kReserveFile); }

  std::unique_ptr<Store> open_store() {
    auto store = open_rocks_store(dir, OpenMode::read_write, {.space = kMarks});
    KQ_CHECK(store);
    return std::move(*store);
  }

  const TemporaryDirectory directory;
  const std::string dir = directory.path() + "/store";
  const char* size_ = "size=64m";

 private:
  std::string filler() const { return directory.path() + "/filler"; }
  bool mounted_ = false;
};

Expected<void> put(Store& store, const std::string& key, std::size_t bytes) {
  const Write write{Family::result, key, std::string(bytes, 'x')};
  return store.commit({&write, 1});
}

TEST_F(SmallDisk, a_store_keeps_a_reserve_and_gives_it_up_when_the_disk_is_nearly_full) {
  const auto store = open_store();
  EXPECT_TRUE(reserved());
  EXPECT_FALSE(store->space()->nearly_full);

  fill_all_but(kMarks.low_bytes - kMegabyte);
  const Space space = store->space().value();
  EXPECT_TRUE(space.nearly_full);
  EXPECT_FALSE(reserved());
  EXPECT_GE(space.free_bytes, kMarks.low_bytes - kMegabyte + kMarks.reserve_bytes)
      << "the space of the reserve is free";
}

TEST_F(SmallDisk, the_disk_stays_nearly_full_until_there_is_room_well_above_the_mark) {
  const auto store = open_store();
  fill_all_but(kMarks.low_bytes - kMegabyte);
  ASSERT_TRUE(store->space()->nearly_full);
  EXPECT_GT(store->space()->free_bytes, kMarks.low_bytes);
  EXPECT_TRUE(store->space()->nearly_full) << "the reserve alone does not make the disk empty";
  clear();
  EXPECT_FALSE(store->space()->nearly_full);
  EXPECT_TRUE(reserved());
}

TEST_F(SmallDisk, results_can_be_written_to_a_disk_that_others_filled) {
  const auto store = open_store();
  fill_all_but(0);
  ASSERT_TRUE(store->space()->nearly_full);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(put(*store, std::to_string(i), kMegabyte));
}

TEST_F(SmallDisk, a_full_disk_ends_the_commits_and_a_store_opened_again_has_its_reserve_to_write_into) {
  {
    const auto store = open_store();
    ASSERT_TRUE(put(*store, "before", 1000));
    fill_all_but(0);
    // measure() is not called meanwhile, so the commits reach the end of the disk.
    Expected<void> done;
    for (int i = 0; done && i < 100; ++i) done = put(*store, std::to_string(i), kMegabyte);
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().message, HasSubstr("No space left on device"));
    EXPECT_EQ(put(*store, "after", 1).error(), done.error()) << "every commit fails with the same message";
    clear();
    EXPECT_EQ(put(*store, "after", 1).error(), done.error()) << "even when there is space again";
    fill_all_but(0);
  }
  const auto store = open_store();
  EXPECT_FALSE(reserved());
  EXPECT_TRUE(store->space()->nearly_full);
  EXPECT_EQ(store->get(Family::result, "before").value()->size(), 1000u);
  EXPECT_TRUE(put(*store, "result", 100'000));
}

class LessSmallDisk : public SmallDisk {
 protected:
  LessSmallDisk() { size_ = "size=150m"; }
};

// The blob files hold 66 MB of removed values and 44 MB of live ones, and less than 44 MB are free, so rewriting all
// live values would fill the disk. RocksDB counts removed values only when it merges tables of removals, four at a
// time. One opening of the store may be too short for that, so each further opening adds a table.
TEST_F(LessSmallDisk, removed_values_are_collected_and_results_always_have_space) {
  constexpr Sequence kFiles = 110, kFilesPerLife = 10, kLives = 8;
  const auto commit_file = [](Store& store, Sequence seq, std::optional<std::string> value) {
    const Write write{Family::blob, sequence_key(seq), std::move(value)};
    KQ_CHECK(store.commit({&write, 1}));
  };
  const auto lives = [](Sequence seq) { return seq % 5 < 2; };
  for (Sequence first = 0; first < kFiles; first += kFilesPerLife) {
    const auto store = open_store();
    for (Sequence seq = first; seq < first + kFilesPerLife; ++seq)
      commit_file(*store, seq, std::string(kMegabyte, 'x'));
  }
  for (Sequence life = 0; life < kLives;
       ++life) {  // four tables of removals start a compaction, which counts the removed values
    const auto store = open_store();
    for (Sequence seq = life; seq < kFiles; seq += kLives) {
      if (!lives(seq)) commit_file(*store, seq, std::nullopt);
    }
  }
  const std::uint64_t free_before = free_bytes(directory.path()).value(), enough = free_before + 10 * kMegabyte;
  ASSERT_GT(free_before, 24 * kMegabyte);
  ASSERT_LT(free_before, 44 * kMegabyte);
  std::uint64_t free = 0;
  auto store = open_store();
  for (int life = 0; life < 5 && free < enough; ++life) {
    if (life > 0) {
      commit_file(*store, kFiles, std::nullopt);
      store.reset();
      store = open_store();
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    for (int i = 0; (free < enough || i < 40) && std::chrono::steady_clock::now() < end; ++i) {
      const auto space = store->space();
      ASSERT_TRUE(space);
      EXPECT_FALSE(space->nearly_full);
      free = space->free_bytes;
      if (i < 40) {
        ASSERT_TRUE(put(*store, "result", 40'000));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
  }
  EXPECT_GE(free, enough);
  for (Sequence seq = 0; seq < kFiles; ++seq)
    EXPECT_EQ(store->get(Family::blob, sequence_key(seq)).value().has_value(), lives(seq)) << seq;
}

TEST(DiskSpace, spare_bytes_leave_the_disk_above_its_mark) {
  const TemporaryDirectory directory;
  const auto space = DiskSpace::watch(directory.path(), {.reserve_bytes = 0, .low_bytes = 16 * kMegabyte});
  ASSERT_TRUE(space);
  EXPECT_EQ(space->spare_bytes({.free_bytes = 20 * kMegabyte}), 4 * kMegabyte);
  EXPECT_EQ(space->spare_bytes({.free_bytes = 16 * kMegabyte}), 0u);
  EXPECT_EQ(space->spare_bytes({.free_bytes = 8 * kMegabyte}), 0u);
  EXPECT_EQ(space->spare_bytes({.free_bytes = 20 * kMegabyte, .nearly_full = true}), 0u);
}

TEST(DiskSpace, a_missing_directory_is_an_error) {
  EXPECT_EQ(DiskSpace::watch("/no/such/place", {}).error(),
            (Error{ErrorKind::our_fault,
                   "store at /no/such/place: the free space of its disk cannot be read: No such file or directory"}));
}

}  // namespace
}  // namespace kq::store
