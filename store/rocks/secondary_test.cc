// Opens a store for reading while its writer continues at the worst moments.
#include "store/rocks/secondary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "store/rocks/rocks_store.h"
#include "store/rocks/wal_tail.h"
#include "store/temporary_directory.h"

namespace kq::store {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr std::size_t kBlockBytes = 32'768;  // of a log

// What the writer does while a store is opened.
struct Meanwhile {
  std::function<void()> before_manifest = [] {};
  std::function<void()> after_manifest = [] {};
  std::function<void(const std::string& log)> before_log = [](const std::string&) {};
  std::function<void(const std::string& log)> within_log = [](const std::string&) {};  // before each read of a log
};
// One attempt reads the MANIFEST for the names of the families, again for the names of family meta, and again, with the
// logs, for the store of meta alone. It repeats all but the first for the store with all families.
constexpr int kManifestsPerAttempt = 5;
constexpr int kManifestsBeforeLogs = 3;

class WatchedFile final : public rocksdb::FSSequentialFileOwnerWrapper {
 public:
  WatchedFile(std::unique_ptr<rocksdb::FSSequentialFile>&& file, std::function<void()> before_read,
              std::function<void()> at_end)
      : FSSequentialFileOwnerWrapper(std::move(file)),
        before_read_(std::move(before_read)),
        at_end_(std::move(at_end)) {}
  ~WatchedFile() override { at_end_(); }

  rocksdb::IOStatus Read(std::size_t bytes, const rocksdb::IOOptions& options, rocksdb::Slice* result, char* scratch,
                         rocksdb::IODebugContext* debug) override {
    before_read_();
    return target()->Read(bytes, options, result, scratch, debug);
  }

 private:
  const std::function<void()> before_read_;
  const std::function<void()> at_end_;
};

class WatchedFiles final : public rocksdb::FileSystemWrapper {
 public:
  explicit WatchedFiles(const Meanwhile& meanwhile)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), meanwhile_(meanwhile) {}

  const char* Name() const override { return "kq.WatchedFiles"; }

  rocksdb::IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                      rocksdb::IODebugContext* debug) override {
    const bool is_manifest = path.find("MANIFEST-") != std::string::npos;
    const bool is_log = path.ends_with(".log");
    if (is_manifest) meanwhile_.before_manifest();
    if (is_log) meanwhile_.before_log(path);
    rocksdb::IOStatus opened = target()->NewSequentialFile(path, options, file, debug);
    if (!opened.ok()) return opened;
    if (is_manifest)
      *file = std::make_unique<WatchedFile>(
          std::move(*file), [] {}, meanwhile_.after_manifest);
    if (is_log)
      *file = std::make_unique<WatchedFile>(
          std::move(*file), [this, path] { meanwhile_.within_log(path); }, [] {});
    return opened;
  }

 private:
  const Meanwhile& meanwhile_;
};

class SecondaryTest : public testing::Test {
 protected:
  void SetUp() override { begin_writer(); }

  void begin_writer() {
    writer_.reset();
    writer_ = open_rocks_store(dir_, OpenMode::read_write, {.space = {.reserve_bytes = 0}}).value();
  }
  void put(const std::string& key, std::size_t bytes = 300) {
    const Write write{Family::state, key, std::string(bytes, 'x')};
    KQ_CHECK(writer_->commit({&write, 1}));
  }
  Expected<std::unique_ptr<Store>> read() { return read(dir_); }
  Expected<std::unique_ptr<Store>> read(const std::string& dir) {
    RocksStoreOptions options;
    options.env = env_.get();
    return open_rocks_store(dir, OpenMode::read_only, options);
  }
  bool shows(const Store& reader, const std::string& key) { return reader.get(Family::state, key).value().has_value(); }

  std::vector<std::string> logs(const std::string& dir) const {
    std::vector<std::string> found;
    for (const auto& file : fs::directory_iterator(dir)) {
      if (file.path().extension() == ".log") found.push_back(file.path());
    }
    std::ranges::sort(found);
    return found;
  }
  static void overwrite(const std::string& path, std::uint64_t at, const std::string& bytes) {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(at));
    KQ_CHECK(file << bytes);
  }
  static std::uint64_t end_of(const std::string& log) {
    return check_wal_tail(log, WalCheck::checksums).value().good_bytes;
  }

  const TemporaryDirectory directory_;
  const std::string dir_ = directory_.path() + "/store";
  std::unique_ptr<Store> writer_;
  Meanwhile meanwhile_;
  const std::unique_ptr<rocksdb::Env> env_ = rocksdb::NewCompositeEnv(std::make_shared<WatchedFiles>(meanwhile_));
};

// A piece of the record after the last complete one exists when RocksDB reads the log, and did not when the log was
// opened, in every attempt.
TEST_F(SecondaryTest, a_partially_written_record_is_not_read) {
  put("first");
  const std::string log = logs(dir_).back();
  const std::uint64_t end = end_of(log);
  put("second", 100'000);  // over four blocks
  std::string record(end_of(log) - end, '\0');
  std::ifstream(log, std::ios::binary)
      .seekg(static_cast<std::streamoff>(end))
      .read(record.data(), static_cast<std::streamsize>(record.size()));
  std::size_t from = 0;
  std::size_t written = 0;
  meanwhile_.before_log = [&](const std::string&) { overwrite(log, end, std::string(record.size(), '\0')); };
  meanwhile_.within_log = [&](const std::string&) { overwrite(log, end + from, record.substr(from, written)); };
  // The beginning of the record, or only its later blocks, as seen by a reader that read the first block too early.
  const std::size_t others = kBlockBytes - end;
  const std::vector<std::pair<std::size_t, std::size_t>> pieces{
      {0, 5}, {0, 150}, {0, 40'000}, {others, kBlockBytes}, {others, record.size() - others}};
  for (const auto& piece : pieces) {
    std::tie(from, written) = piece;
    const auto reader = read();
    ASSERT_TRUE(reader) << from << " " << written << ": " << reader.error().message;
    EXPECT_TRUE(shows(**reader, "first"));
    EXPECT_FALSE(shows(**reader, "second"));
  }
  overwrite(log, end, record);
}

TEST_F(SecondaryTest, records_appended_while_a_log_is_read_hide_no_earlier_record) {
  put("first");
  int reads = 0;
  meanwhile_.within_log = [&](const std::string&) {
    for (int i = 0; i < 100; ++i) put(std::to_string(reads) + "." + std::to_string(i), 1'000);
    ++reads;
  };
  const auto reader = read();
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_TRUE(shows(**reader, "first"));
  for (int n = 0; n < reads; ++n) {
    for (int i = 1; i < 100; ++i) {
      const bool has = shows(**reader, std::to_string(n) + "." + std::to_string(i));
      EXPECT_TRUE(!has || shows(**reader, std::to_string(n) + "." + std::to_string(i - 1))) << n << "." << i;
    }
  }
}

// The MANIFEST that was read does not name the table with the records, and the log that held them is gone.
TEST_F(SecondaryTest, a_log_deleted_after_the_manifest_was_read_repeats_the_opening) {
  for (int target = 1; target <= kManifestsPerAttempt; ++target) {
    const std::string key = std::to_string(target);
    put(key);
    int manifests = 0;
    meanwhile_.after_manifest = [&] {
      if (++manifests == target) begin_writer();
    };
    const auto reader = read();
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_TRUE(shows(**reader, key)) << target;
  }
}

TEST_F(SecondaryTest, a_log_deleted_while_another_is_read_is_still_read) {
  put("kept");
  bool done = false;
  meanwhile_.within_log = [&](const std::string&) {
    if (!std::exchange(done, true)) begin_writer();
  };
  const auto reader = read();
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_TRUE(shows(**reader, "kept"));
}

TEST_F(SecondaryTest, files_that_the_writer_removes_later_are_still_read) {
  const Write blob{Family::blob, "key", std::string(5'000, 'b')};
  ASSERT_TRUE(writer_->commit({&blob, 1}));
  begin_writer();  // the value is in a blob file now
  const auto reader = read();
  ASSERT_TRUE(reader) << reader.error().message;
  int removed_count = 0;
  for (const auto& file : fs::directory_iterator(dir_)) {
    if (file.path().extension() == ".blob" || file.path().extension() == ".sst")
      removed_count += fs::remove(file.path());
  }
  ASSERT_GE(removed_count, 2);
  const auto value = (*reader)->get(Family::blob, "key");
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(**value, *blob.value);
}

// As for logs above: the MANIFEST that was read may name the blob file.
TEST_F(SecondaryTest, a_blob_file_deleted_while_the_manifest_is_read_repeats_the_opening) {
  const Write blob{Family::blob, "key", std::string(5'000, 'b')};
  ASSERT_TRUE(writer_->commit({&blob, 1}));
  begin_writer();
  const std::string passing = dir_ + "/999999.blob";
  std::ofstream(passing) << "any content";
  int manifests = 0;
  meanwhile_.after_manifest = [&] {
    if (++manifests == kManifestsBeforeLogs) fs::remove(passing);
  };
  const auto reader = read();
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_GT(manifests, kManifestsPerAttempt);
  EXPECT_EQ(**(*reader)->get(Family::blob, "key"), *blob.value);
}

TEST_F(SecondaryTest, a_manifest_replaced_before_it_is_read_repeats_the_opening) {
  for (int target = 1; target <= kManifestsPerAttempt; ++target) {
    const std::string key = std::to_string(target);
    put(key);
    int manifests = 0;
    meanwhile_.before_manifest = [&] {
      if (++manifests == target) begin_writer();
    };
    const auto reader = read();
    ASSERT_TRUE(reader) << reader.error().message;
    EXPECT_TRUE(shows(**reader, key)) << target;
  }
}

TEST_F(SecondaryTest, an_opening_fails_if_the_writer_replaces_logs_in_every_attempt) {
  put("kept");
  int manifests = 0;
  meanwhile_.after_manifest = [&] {
    ++manifests;
    begin_writer();
    put("kept");
  };
  const auto reader = read();
  ASSERT_FALSE(reader);
  EXPECT_THAT(reader.error().message,
              HasSubstr("logs were replaced by the process that writes it while it was opened for reading"));
  EXPECT_EQ(manifests, kManifestsBeforeLogs * kOpenAttemptsMax);
}

TEST_F(SecondaryTest, lasting_damage_is_reported_after_one_attempt) {
  for (const char* key : {"one", "two", "three"}) put(key);
  const std::string copy = directory_.path() + "/copy";
  fs::copy(dir_, copy);
  const std::string log = logs(copy).back();
  overwrite(log, end_of(log) - 500, "y");
  int manifests = 0;
  meanwhile_.after_manifest = [&] { ++manifests; };
  const auto reader = read(copy);
  ASSERT_FALSE(reader);
  EXPECT_THAT(reader.error().message, HasSubstr("is damaged: "));
  EXPECT_EQ(manifests, kManifestsBeforeLogs);
}

// A log that is followed by another log was complete.
TEST_F(SecondaryTest, a_torn_end_of_an_older_log_is_damage) {
  put("one");
  put("two");
  ASSERT_TRUE(writer_->drop(Family::run, "a", "b"));  // begins a new log and keeps the older one
  put("three");
  const std::string copy = directory_.path() + "/copy";
  fs::copy(dir_, copy);
  ASSERT_GE(logs(copy).size(), 2u);
  const std::string older = logs(copy).end()[-2];
  overwrite(older, end_of(older) - 1, std::string(1, '\0'));
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write}) {
    const auto store = open_rocks_store(copy, mode, {.space = {.reserve_bytes = 0}});
    ASSERT_FALSE(store);
    EXPECT_THAT(store.error().message, HasSubstr("is damaged: "));
  }
}

}  // namespace
}  // namespace kq::store
