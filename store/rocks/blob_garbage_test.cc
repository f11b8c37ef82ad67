#include "store/rocks/blob_garbage.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "store/keys.h"
#include "store/rocks/rocks_store.h"
#include "store/rocks/settings.h"
#include "store/temporary_directory.h"

namespace kq::store {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kValueBytes = kMegabyte;
constexpr std::uint64_t kPlenty = std::uint64_t{1} << 40;
constexpr Sequence kValues = 2 * kGarbageBytesMin / kValueBytes;  // if half of them are removed, a collection starts

// Family blob of a database as kq configures it; the test decides when compactions run.
class BlobGarbageTest : public testing::Test {
 protected:
  BlobGarbageTest() {
    auto families = all_families(false);
    rocksdb::Options options(rocksdb::DBOptions(), families[static_cast<std::size_t>(Family::blob)].options);
    options.create_if_missing = true;
    options.allow_concurrent_memtable_write = false;
    rocksdb::DB* db = nullptr;
    EXPECT_TRUE(rocksdb::DB::Open(options, directory_.path(), &db).ok());
    db_.reset(db);
    garbage_ = std::make_unique<BlobGarbage>(*db_, db_->DefaultColumnFamily());
    for (Sequence seq = 0; seq < kValues; ++seq)
      EXPECT_TRUE(db_->Put({}, sequence_key(seq), std::string(kValueBytes, 'x')).ok());
    EXPECT_TRUE(db_->Flush({}).ok());
  }
  void remove(Sequence first, Sequence end) {
    for (Sequence seq = first; seq < end; ++seq) ASSERT_TRUE(db_->Delete({}, sequence_key(seq)).ok());
    compact();
  }
  void compact() {
    rocksdb::CompactRangeOptions options;
    options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
    ASSERT_TRUE(db_->CompactRange(options, nullptr, nullptr).ok());
  }
  // Calls update(), waits for the collection, and returns the bytes that are left in blob files.
  std::uint64_t left_after_update(std::uint64_t spare_bytes = kPlenty) {
    garbage_->update(spare_bytes);
    while (garbage_->is_collecting()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return blob_bytes();
  }
  std::uint64_t blob_bytes() const {
    std::uint64_t bytes = 0;
    EXPECT_TRUE(db_->GetIntProperty(rocksdb::DB::Properties::kLiveBlobFileSize, &bytes));
    return bytes;
  }

  const TemporaryDirectory directory_;
  std::unique_ptr<rocksdb::DB> db_;
  std::unique_ptr<BlobGarbage> garbage_;
};

TEST_F(BlobGarbageTest, collects_if_half_of_the_bytes_are_removed) {
  const std::uint64_t all = blob_bytes();
  EXPECT_EQ(left_after_update(), all);
  remove(0, kValues / 2 - 1);
  EXPECT_EQ(left_after_update(), all);
  remove(kValues / 2 - 1, kValues / 2 + 1);
  EXPECT_EQ(blob_bytes(), all) << "other compactions free no space in blob files";
  EXPECT_LT(left_after_update(), kValues / 2 * kValueBytes);
  for (Sequence seq = 0; seq < kValues; ++seq) {
    std::string value;
    EXPECT_EQ(db_->Get({}, sequence_key(seq), &value).ok(), seq > kValues / 2) << seq;
  }
}

TEST_F(BlobGarbageTest, collects_as_far_as_the_disk_has_space_and_not_if_it_is_nearly_full) {
  remove(0, kValues * 3 / 4);
  const std::uint64_t all = blob_bytes(), live = kValues / 4 * kValueBytes;
  EXPECT_EQ(left_after_update(0), all);
  EXPECT_EQ(left_after_update(live / kFilesShareMin), all);
  EXPECT_EQ(left_after_update(live), all) << "the space suffices for less than one file";
  EXPECT_LT(left_after_update(2 * live + 2 * kValueBytes), all / 2);
}

TEST_F(BlobGarbageTest, is_interrupted_if_the_disk_becomes_nearly_full_or_the_store_is_closed) {
  remove(0, kValues * 3 / 4);
  const std::uint64_t all = blob_bytes();
  ASSERT_TRUE(db_->PauseBackgroundWork().ok());  // the collection cannot finish before it is interrupted
  garbage_->update(kPlenty);
  EXPECT_TRUE(garbage_->is_collecting());
  garbage_->update(0);
  ASSERT_TRUE(db_->ContinueBackgroundWork().ok());
  while (garbage_->is_collecting()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(blob_bytes(), all);
  garbage_->update(kPlenty);
  garbage_.reset();  // interrupts the collection
  EXPECT_GE(blob_bytes(), kValues / 4 * kValueBytes);
}

// Works as in a broker: the test starts no compaction and only asks for the space each second.
TEST(BlobGarbageOfAStore, is_collected_by_calls_of_space) {
  const TemporaryDirectory directory;
  const auto open = [&] {
    return open_rocks_store(directory.path(), OpenMode::read_write, {.space = {.reserve_bytes = 0}}).value();
  };
  const auto blob_bytes = [&] {
    std::uintmax_t bytes = 0;
    for (const auto& entry : fs::directory_iterator(directory.path())) {
      std::error_code gone;
      if (entry.path().extension() == ".blob") bytes += entry.file_size(gone);
    }
    return bytes;
  };
  {
    const auto store = open();
    for (Sequence seq = 0; seq < kValues; ++seq) {
      const Write write{Family::blob, sequence_key(seq), std::string(kValueBytes, 'x')};
      ASSERT_TRUE(store->commit({&write, 1}));
    }
  }
  EXPECT_GT(blob_bytes(), kValues * kValueBytes);
  // Every opening of the store leaves a table of removals. Four such tables start a compaction, which counts the
  // removed values.
  constexpr Sequence kOpenings = 8;
  for (Sequence opening = 0; opening < kOpenings; ++opening) {
    const auto store = open();
    for (Sequence seq = opening; seq < kValues * 3 / 4; seq += kOpenings) {
      const Write removal{Family::blob, sequence_key(seq), std::nullopt};
      ASSERT_TRUE(store->commit({&removal, 1}));
    }
  }
  const auto store = open();
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (blob_bytes() > kValues / 2 * kValueBytes && std::chrono::steady_clock::now() < limit) {
    ASSERT_TRUE(store->space());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_LE(blob_bytes(), kValues / 2 * kValueBytes);
  for (Sequence seq = kValues * 3 / 4; seq < kValues; ++seq)
    EXPECT_EQ(store->get(Family::blob, sequence_key(seq)).value().value().size(), kValueBytes);
}

}  // namespace
}  // namespace kq::store
