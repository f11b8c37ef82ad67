// Tests what the store on disk adds to the contract of store_test.cc: durability, refusals and the state after a crash.
//
// This program has its own main: started as `rocks_store_test --write-until-killed DIR` it is the process that the
// crash tests kill.
#include "store/rocks/rocks_store.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <vector>

#include "core/base/check.h"
#include "core/records.h"
#include "store/keys.h"
#include "store/rocks/wal_tail.h"
#include "store/temporary_directory.h"

namespace {
std::atomic<int> sync_count = 0;
std::atomic<bool> syncs_fail = false;
}  // namespace

// Replaces the C library's fdatasync in this whole program, RocksDB included.
extern "C" int fdatasync(int fd) {
  ++sync_count;
  if (syncs_fail) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(syscall(SYS_fdatasync, fd));
}

namespace kq::store {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::StartsWith;

// Turns the reserve off, because making it in a memory file system takes long; disk_space_test.cc tests it.
const RocksStoreOptions kNoReserve{.space = {.reserve_bytes = 0}};

std::unique_ptr<Store> open(const std::string& dir, OpenMode mode = OpenMode::read_write) {
  auto store = open_rocks_store(dir, mode, kNoReserve);
  EXPECT_TRUE(store) << store.error().message;
  return store ? std::move(*store) : nullptr;
}

Error refusal(const std::string& dir, OpenMode mode) {
  auto store = open_rocks_store(dir, mode);
  EXPECT_FALSE(store);
  return store ? Error{ErrorKind::interrupted, "opened"} : store.error();
}

Expected<void> put(Store& store, const std::string& key, const std::string& value) {
  const Write write{Family::state, key, value};
  return store.commit({&write, 1});
}

std::optional<std::string> get(const Store& store, const std::string& key) {
  return store.get(Family::state, key).value();
}

// Returns every file with its size and time of change.
std::map<std::string, std::pair<std::uintmax_t, fs::file_time_type>> listing(const std::string& dir) {
  std::map<std::string, std::pair<std::uintmax_t, fs::file_time_type>> files;
  for (const auto& entry : fs::directory_iterator(dir)) {
    files[entry.path().filename()] = {entry.file_size(), entry.last_write_time()};
  }
  return files;
}

// Copies the files of an open store: what a crash would leave. A store closed in order has no log to replay.
void copy_as_crashed(const std::string& dir, const std::string& to) {
  fs::copy(dir, to);
}

// Skips files that are gone when their turn comes, because an open store may remove files at any time.
std::uintmax_t table_bytes(const std::string& dir) {
  std::uintmax_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(dir)) {
    std::error_code gone;
    const std::uintmax_t size = entry.path().extension() == ".sst" ? entry.file_size(gone) : 0;
    if (!gone) bytes += size;
  }
  return bytes;
}

fs::path write_ahead_log(const std::string& dir) {
  fs::path newest;
  for (const auto& entry : fs::directory_iterator(dir)) {
    if (entry.path().extension() == ".log" && entry.path() > newest) newest = entry.path();
  }
  return newest;
}

void overwrite(const fs::path& path, std::streamoff at, char byte) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(at);
  file.put(byte);
}

class RocksStoreTest : public testing::Test {
 protected:
  // Ten commits, then a crash.
  void crash_after_ten_commits() {
    const std::string running = directory.path() + "/running";
    const auto store = open(running);
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(put(*store, std::to_string(i), std::string(1'000, 'x')));
    copy_as_crashed(running, dir);
  }

  const TemporaryDirectory directory;
  const std::string dir = directory.path() + "/store";
};

// Appends zeros to the newest log: stores of kq 0.1.0 that were killed have zeros after the last record.
void append_zeros_to_log(const std::string& dir) {
  const fs::path log = write_ahead_log(dir);
  fs::resize_file(log, fs::file_size(log) + (std::uintmax_t{1} << 20));
}

// ---- durability -----------------------------------------------------------------------------------------------------

TEST_F(RocksStoreTest, a_reopened_store_holds_what_was_committed) {
  {
    const auto store = open(dir);
    ASSERT_TRUE(put(*store, "kept", "1"));
    ASSERT_TRUE(put(*store, "removed", "1"));
    const Write removal{Family::state, "removed", std::nullopt};
    ASSERT_TRUE(store->commit({&removal, 1}));
  }
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write}) {
    const auto store = open(dir, mode);
    EXPECT_EQ(get(*store, "kept"), "1");
    EXPECT_EQ(get(*store, "removed"), std::nullopt);
  }
}

TEST_F(RocksStoreTest, every_commit_is_synced_once_before_it_returns) {
  const auto store = open(dir);
  ASSERT_TRUE(put(*store, "first", "1"));
  const int before = sync_count;
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(put(*store, std::to_string(i), "1"));
  EXPECT_EQ(sync_count - before, 10);
}

TEST_F(RocksStoreTest, after_a_failed_sync_every_commit_fails_with_the_same_message) {
  const auto store = open(dir);
  syncs_fail = true;
  const auto failed = put(*store, "a", "1");
  syncs_fail = false;
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().kind, ErrorKind::our_fault);
  EXPECT_THAT(failed.error().message, StartsWith("store at " + dir + ": commit failed: "));
  for (const char* key : {"a", "b"}) EXPECT_EQ(put(*store, key, "1").error(), failed.error());
  EXPECT_EQ(store->drop(Family::run, "a", "b").error(), failed.error());
}

TEST_F(RocksStoreTest, a_store_closed_in_order_has_nothing_to_replay) {
  ASSERT_TRUE(put(*open(dir), "a", "1"));
  EXPECT_EQ(fs::file_size(write_ahead_log(dir)), 0u);
  EXPECT_EQ(get(*open(dir), "a"), "1");
}

TEST_F(RocksStoreTest, only_a_torn_last_record_is_dropped) {
  crash_after_ten_commits();
  const fs::path log = write_ahead_log(dir);
  const std::uint64_t end = check_wal_tail(log, WalCheck::checksums).value().good_bytes;
  overwrite(log, static_cast<std::streamoff>(end) - 1, '\0');
  const auto store = open(dir);
  for (int i = 0; i < 9; ++i) EXPECT_TRUE(get(*store, std::to_string(i))) << i;
  EXPECT_EQ(get(*store, "9"), std::nullopt);
}

TEST_F(RocksStoreTest, zeros_after_the_last_record_are_the_end_of_the_log) {
  crash_after_ten_commits();
  append_zeros_to_log(dir);
  const auto store = open(dir);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(get(*store, std::to_string(i)), std::string(1'000, 'x'));
}

TEST_F(RocksStoreTest, a_reader_drops_a_torn_record_before_zeros) {
  crash_after_ten_commits();
  const fs::path log = write_ahead_log(dir);
  const std::uint64_t end = check_wal_tail(log, WalCheck::checksums).value().good_bytes;
  fs::resize_file(log, end - 500);
  append_zeros_to_log(dir);
  const auto reader = open(dir, OpenMode::read_only);
  EXPECT_EQ(get(*reader, "8"), std::string(1'000, 'x'));
  EXPECT_EQ(get(*reader, "9"), std::nullopt);
}

TEST_F(RocksStoreTest, damage_before_the_last_record_is_refused_and_not_skipped) {
  crash_after_ten_commits();
  overwrite(write_ahead_log(dir), 3'000, 'y');
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write}) {
    const Error error = refusal(dir, mode);
    EXPECT_EQ(error.kind, ErrorKind::our_fault);
    EXPECT_THAT(error.message, StartsWith("store at " + dir + " is damaged: "));
  }
}

// ---- bulk removal, copies -------------------------------------------------------------------------------------------

TEST_F(RocksStoreTest, a_dropped_range_frees_its_space_at_once) {
  const auto store = open(dir);
  std::mt19937_64 random(1);
  for (Sequence first = 0; first < 10'000; first += 100) {
    std::vector<Write> writes;
    for (Sequence seq = first; seq < first + 100; ++seq) {
      std::string value(1'000, '\0');  // bytes that do not compress
      for (char& byte : value) byte = static_cast<char>(random());
      writes.push_back({Family::state, sequence_key(seq), value});
    }
    ASSERT_TRUE(store->commit(writes));
  }
  ASSERT_TRUE(store->drop(Family::state, sequence_key(0), sequence_key(1)));  // flushes
  ASSERT_GT(table_bytes(dir), 9'000'000u);
  ASSERT_TRUE(store->drop(Family::state, sequence_key(0), sequence_key(9'999)));
  EXPECT_EQ(get(*store, sequence_key(9'998)), std::nullopt);
  EXPECT_TRUE(get(*store, sequence_key(9'999)));
  // One table holds the key that stays; a background compaction removes the rest of the others.
  for (int i = 0; i < 100 && table_bytes(dir) > 100'000; ++i) ASSERT_TRUE(store->drop(Family::state, "", "\1"));
  EXPECT_LT(table_bytes(dir), 100'000u);
}

TEST_F(RocksStoreTest, a_checkpoint_is_a_store_of_its_own_made_while_commits_go_on) {
  const auto store = open(dir);
  ASSERT_TRUE(put(*store, "before", "1"));
  const std::string copy = directory.path() + "/copy";
  ASSERT_TRUE(store->checkpoint(copy));
  ASSERT_TRUE(put(*store, "after", "1"));

  const auto copied = open(copy);
  EXPECT_EQ(get(*copied, "before"), "1");
  EXPECT_EQ(get(*copied, "after"), std::nullopt);
  ASSERT_TRUE(put(*copied, "before", "changed"));
  EXPECT_EQ(get(*store, "before"), "1");
}

TEST_F(RocksStoreTest, a_checkpoint_refuses_a_directory_that_is_in_use) {
  const auto store = open(dir);
  const std::string copy = directory.path() + "/copy";
  fs::create_directory(copy);
  ASSERT_TRUE(store->checkpoint(copy)) << "it is empty";
  EXPECT_EQ(store->checkpoint(copy).error(),
            (Error{ErrorKind::bad_input,
                   "no checkpoint at " + copy + ": it is not empty; name a new or an empty directory"}));
  for (const std::string& inside : {dir, dir + "/copy", dir + "/../" + fs::path(dir).filename().string() + "/copy"}) {
    EXPECT_EQ(store->checkpoint(inside).error(),
              (Error{ErrorKind::bad_input,
                     "no checkpoint at " + inside + ": the directory is inside the store; name a directory outside"}));
  }
  EXPECT_EQ(store->checkpoint(copy + "/a/b").error(),
            (Error{ErrorKind::bad_input, "no checkpoint at " + copy + "/a/b: its parent directory does not exist"}));
}

// ---- refusals -------------------------------------------------------------------------------------------------------

TEST_F(RocksStoreTest, reading_a_missing_directory_is_bad_input_and_creates_nothing) {
  EXPECT_EQ(refusal(dir, OpenMode::read_only),
            (Error{ErrorKind::bad_input, "no store at " + dir + ": no such directory"}));
  EXPECT_FALSE(fs::exists(dir));
}

TEST_F(RocksStoreTest, reading_an_empty_directory_is_bad_input_and_creates_nothing) {
  fs::create_directory(dir);
  EXPECT_EQ(refusal(dir, OpenMode::read_only),
            (Error{ErrorKind::bad_input, "no store at " + dir + ": the directory does not hold one"}));
  EXPECT_TRUE(fs::is_empty(dir));
}

TEST_F(RocksStoreTest, a_directory_of_other_files_is_left_alone) {
  fs::create_directory(dir);
  std::ofstream(dir + "/thesis.txt") << "years of work";
  const auto before = listing(dir);
  EXPECT_EQ(refusal(dir, OpenMode::read_write),
            (Error{ErrorKind::bad_input,
                   "no store at " + dir + ": it holds other files ('thesis.txt'); name a new or an empty directory"}));
  EXPECT_EQ(listing(dir), before);
}

TEST_F(RocksStoreTest, a_file_is_not_a_store) {
  std::ofstream(dir) << "text";
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write}) {
    EXPECT_EQ(refusal(dir, mode), (Error{ErrorKind::bad_input, "no store at " + dir + ": it is not a directory"}));
  }
}

TEST_F(RocksStoreTest, a_directory_that_cannot_be_made_is_bad_input) {
  std::ofstream(dir) << "text";
  EXPECT_EQ(refusal(dir + "/below", OpenMode::read_write).kind, ErrorKind::bad_input);
}

TEST_F(RocksStoreTest, a_store_with_a_corrupt_current_file_is_damaged) {
  for (const std::string garbage : {"", "garbage", "MANIFEST-999999\n"}) {
    fs::remove_all(dir);
    open(dir).reset();
    std::ofstream(dir + "/CURRENT") << garbage;
    for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write}) {
      const Error error = refusal(dir, mode);
      EXPECT_EQ(error.kind, ErrorKind::our_fault);
      EXPECT_THAT(error.message, StartsWith("store at " + dir + " ")) << garbage;
    }
  }
}

TEST_F(RocksStoreTest, a_newer_schema_is_refused_with_a_reason_and_not_changed) {
  const std::string ours = std::to_string(kSchemaVersion);
  const std::string newer = std::to_string(kSchemaVersion + 1);
  {
    const auto store = open(dir);
    const Write schema{Family::meta, std::string(kSchemaKey), newer};
    ASSERT_TRUE(store->commit({&schema, 1}));
  }
  const auto before = listing(dir);
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write}) {
    EXPECT_EQ(refusal(dir, mode),
              (Error{ErrorKind::bad_input, "store at " + dir + " has schema " + newer + ", this program reads " + ours +
                                               "; use the version of kq that wrote it, or name another directory"}));
  }
  EXPECT_EQ(listing(dir), before);
}

TEST_F(RocksStoreTest, a_store_without_a_schema_is_refused) {
  {
    const auto store = open(dir);
    const Write schema{Family::meta, std::string(kSchemaKey), std::nullopt};
    ASSERT_TRUE(store->commit({&schema, 1}));
  }
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write}) {
    EXPECT_EQ(refusal(dir, mode),
              (Error{ErrorKind::bad_input, "store at " + dir + " has no schema version: it is not a store of kq"}));
  }
}

TEST_F(RocksStoreTest, a_new_store_records_its_schema) {
  EXPECT_EQ(open(dir)->get(Family::meta, kSchemaKey).value(), std::to_string(kSchemaVersion));
}

TEST_F(RocksStoreTest, an_interrupted_creation_is_completed) {
  fs::create_directory(dir);
  for (const char* name : {"LOCK", "LOG", "IDENTITY", "MANIFEST-000001"}) std::ofstream(dir + "/" + name);
  EXPECT_TRUE(put(*open(dir), "a", "1"));
  EXPECT_EQ(get(*open(dir), "a"), "1");
}

TEST_F(RocksStoreTest, files_left_by_killed_openings_are_removed_when_the_store_is_opened_for_writing) {
  ASSERT_TRUE(put(*open(dir), "a", "1"));
  const std::string left = dir + "/OPTIONS-004711.dbtmp";
  std::ofstream(left) << "incomplete options";
  EXPECT_EQ(get(*open(dir, OpenMode::read_only), "a"), "1");
  EXPECT_TRUE(fs::exists(left));
  EXPECT_EQ(get(*open(dir), "a"), "1");
  EXPECT_FALSE(fs::exists(left));
}

TEST_F(RocksStoreTest, a_store_that_is_open_for_writing_cannot_be_opened_for_writing_again) {
  const auto store = open(dir);
  const Error error = refusal(dir, OpenMode::read_write);
  EXPECT_EQ(error.kind, ErrorKind::bad_input);
  EXPECT_EQ(error.message,
            "store at " + dir + " is in use by a running broker; ask the broker, stop it, or name another directory");
}

// ---- reading only ---------------------------------------------------------------------------------------------------

TEST_F(RocksStoreTest, reading_changes_no_file_and_refuses_to_write) {
  ASSERT_TRUE(put(*open(dir), "a", "1"));
  const auto before = listing(dir);
  {
    const auto store = open(dir, OpenMode::read_only);
    EXPECT_EQ(get(*store, "a"), "1");
    EXPECT_FALSE(put(*store, "b", "1"));
  }
  EXPECT_EQ(listing(dir), before);
}

TEST_F(RocksStoreTest, a_reader_during_writes_sees_what_was_committed_before_it_opened) {
  const auto writer = open(dir);
  ASSERT_TRUE(put(*writer, "before", "1"));
  const auto reader = open(dir, OpenMode::read_only);
  ASSERT_TRUE(put(*writer, "after", "1"));
  EXPECT_EQ(get(*reader, "before"), "1");
  EXPECT_EQ(get(*reader, "after"), std::nullopt);
}

// ---- a process that is killed ---------------------------------------------------------------------------------------

// Returns batch n: keys in four families, and the removal of the previous batch's key from `ids`.
std::vector<Write> batch(Sequence n) {
  const std::string key = sequence_key(n);
  return {{Family::state, key, std::string(100, static_cast<char>(n))},
          {Family::blob, key, std::string(5'000, static_cast<char>(n))},
          {Family::ids, key, key},
          {Family::ids, sequence_key(n - 1), std::nullopt},
          {Family::meta, std::string(kNextSequenceKey), sequence_key(n + 1)}};
}

Sequence next_batch(const Store& store) {
  const auto key = store.get(Family::meta, kNextSequenceKey).value();
  return key ? sequence_from(*key).value() : 1;
}

// Runs in the child: commits batches and writes the number of each acknowledged batch to standard output.
[[noreturn]] void write_until_killed(const std::string& dir) {
  const auto store = open_rocks_store(dir, OpenMode::read_write, kNoReserve);
  KQ_CHECK(store);
  for (Sequence n = next_batch(**store);; ++n) {
    KQ_CHECK((*store)->commit(batch(n)));
    KQ_CHECK(write(STDOUT_FILENO, &n, sizeof n) == sizeof n);
  }
}

class Writer {
 public:
  explicit Writer(const std::string& dir) {
    int ends[2];
    KQ_CHECK(pipe2(ends, O_CLOEXEC) == 0);
    pid_ = fork();
    KQ_CHECK(pid_ >= 0);
    if (pid_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      execl("/proc/self/exe", "rocks_store_test", "--write-until-killed", dir.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    acknowledged_ = ends[0];
  }
  ~Writer() {
    if (pid_ > 0) kill_now();
    close(acknowledged_);
  }

  // Returns the next acknowledged batch, or an empty optional when the writer is dead and its output is read.
  std::optional<Sequence> next() {
    Sequence n = 0;
    if (read(acknowledged_, &n, sizeof n) != sizeof n) return std::nullopt;
    return n;
  }

  void kill_now() {
    KQ_CHECK(kill(pid_, SIGKILL) == 0);
    int status = 0;
    KQ_CHECK(waitpid(pid_, &status, 0) == pid_);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself";
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
  int acknowledged_ = -1;
};

void expect_whole(const Store& store, Sequence batch_count) {
  for (Sequence n = 1; n <= batch_count; ++n) {
    for (const Write& write : batch(n)) {
      if (write.family == Family::meta) continue;
      if (write.family == Family::ids && write.key != sequence_key(batch_count)) continue;
      ASSERT_EQ(store.get(write.family, write.key).value(), write.value) << "batch " << n;
    }
    if (n == batch_count) break;
    ASSERT_EQ(store.get(Family::ids, sequence_key(n)).value(), std::nullopt) << "batch " << n;
  }
  for (const Family family : {Family::state, Family::blob, Family::ids}) {
    ASSERT_EQ(store.get(family, sequence_key(batch_count + 1)).value(), std::nullopt) << "part of a batch";
  }
}

TEST_F(RocksStoreTest, a_killed_writer_loses_nothing_acknowledged_and_leaves_no_part_of_a_batch) {
  std::mt19937_64 random(3);
  Sequence acknowledged = 0;
  for (int round = 0; round < 6; ++round) {
    Writer writer(dir);
    // Some writers are killed while they create or recover the store, the others between or inside their commits.
    for (std::uint64_t n = round % 4 == 0 ? 0 : 1 + random() % 40; n > 0; --n) acknowledged = writer.next().value();
    writer.kill_now();
    while (const auto n = writer.next()) acknowledged = *n;

    if (round % 4 == 0 && acknowledged == 0)
      continue;  // the next writer must be able to open whatever an interrupted creation left
    for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write}) {
      const auto store = open(dir, mode);
      ASSERT_NE(store, nullptr);
      const Sequence present = next_batch(*store) - 1;
      EXPECT_GE(present, acknowledged);
      EXPECT_LE(present, acknowledged + 1) << "one commit may be durable and not yet acknowledged";
      expect_whole(*store, present);
    }
  }
  EXPECT_GT(acknowledged, 9u);
}

TEST_F(RocksStoreTest, a_store_of_a_living_process_can_be_read_and_not_written) {
  Writer writer(dir);
  const Sequence acknowledged = writer.next().value();
  EXPECT_THAT(refusal(dir, OpenMode::read_write).message, HasSubstr("is in use by a running broker"));
  for (int i = 0; i < 8; ++i) {
    const auto reader = open(dir, OpenMode::read_only);
    ASSERT_NE(reader, nullptr);
    EXPECT_GE(next_batch(*reader), acknowledged + 1);
    expect_whole(*reader, next_batch(*reader) - 1);
  }
}

}  // namespace
}  // namespace kq::store

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--write-until-killed") kq::store::write_until_killed(argv[2]);
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
