#include "store/rocks/rocks_store.h"

#include <rocksdb/convenience.h>
#include <rocksdb/utilities/checkpoint.h>
#include <rocksdb/write_batch.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <list>
#include <map>
#include <system_error>
#include <unordered_set>
#include <vector>

#include "core/records.h"
#include "store/keys.h"
#include "store/migration.h"
#include "store/rocks/blob_garbage.h"
#include "store/rocks/commit_log.h"
#include "store/rocks/secondary.h"
#include "store/rocks/settings.h"
#include "store/rocks/small_tables.h"
#include "store/rocks/wal_tail.h"
#include "sys/error_text.h"

namespace kq::store {
namespace {

// ---- the open store -------------------------------------------------------------------------------------------------

rocksdb::Slice slice(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}
std::string_view view(const rocksdb::Slice& bytes) {
  return {bytes.data(), bytes.size()};
}

// Returns which writes are overwritten by a later write of the same commit. A job that is submitted and leased in one
// commit changes its record and its queue entry twice, and only the last write of each needs to reach the log.
std::vector<bool> superseded_in(std::span<const Write> writes) {
  std::vector<bool> superseded(writes.size());
  std::array<std::unordered_set<std::string_view>, 2> later;
  for (std::size_t i = writes.size(); i-- > 0;) {
    const Write& write = writes[i];
    if (!write.end.empty()) break;  // a write before a range removal is always kept
    if (write.family != Family::state && write.family != Family::queue) continue;
    superseded[i] = !later[write.family == Family::queue].insert(write.key).second;
  }
  return superseded;
}

// Through which RocksDB accesses files. Null means the default file system.
using Env = std::shared_ptr<rocksdb::Env>;

class RocksStore final : public Store {
 public:
  // A null handle stands for a family that the store on disk lacks; it holds nothing.
  RocksStore(std::string dir, OpenMode mode, Env env, std::unique_ptr<rocksdb::DB> db,
             std::vector<rocksdb::ColumnFamilyHandle*> handles, std::optional<DiskSpace> space)
      : dir_(std::move(dir)),
        mode_(mode),
        env_(std::move(env)),
        db_(std::move(db)),
        handles_(std::move(handles)),
        space_(std::move(space)),
        log_(*db_, dir_) {
    if (mode != OpenMode::read_write) return;
    for (const Family family : {Family::blob, Family::object}) garbage_.emplace_back(*db_, handle(family));
  }

  ~RocksStore() override {
    // Flushes all families: a store that was closed in order then has no log to replay, and no log in which damage
    // could pass for a torn tail. Flushes one family after the other and stops at the first error: two unsynced records
    // of the MANIFEST could be torn apart.
    log_.close();
    garbage_.clear();
    bool flushed = mode_ == OpenMode::read_write && !broken_;
    for (rocksdb::ColumnFamilyHandle* handle : handles_) flushed = flushed && db_->Flush({}, handle).ok();
    for (rocksdb::ColumnFamilyHandle* handle : handles_) {
      if (handle != nullptr) db_->DestroyColumnFamilyHandle(handle);
    }
  }

  Expected<void> commit(std::span<const Write> writes) override {
    if (broken_) return failure(*broken_);
    if (writes.empty()) return {};
    const std::vector<bool> superseded = superseded_in(writes);
    batch_.Clear();
    for (std::size_t i = 0; i < writes.size(); ++i) {
      if (superseded[i]) continue;
      const rocksdb::Status status = append(batch_, writes[i]);
      if (!status.ok()) return fail_for_good("commit", status);
    }
    if (batch_.Count() == 0) return {};
    rocksdb::WriteOptions options;
    options.sync = true;
    // If this succeeds, the writes survive a crash of the process or the machine.
    const rocksdb::Status status = db_->Write(options, &batch_);
    if (!status.ok()) return fail_for_good("commit", status);
    return {};
  }

  Expected<std::optional<std::string>> get(Family family, std::string_view key) const override {
    if (handle(family) == nullptr) return std::nullopt;
    std::string value;
    const rocksdb::Status status = db_->Get({}, handle(family), slice(key), &value);
    if (status.IsNotFound()) return std::nullopt;
    if (!status.ok()) return fail("read", status);
    return value;
  }

  Expected<Values> get_many(Family family, std::span<const std::string> keys) const override {
    Values values(keys.size());
    if (handle(family) == nullptr) return values;
    const std::vector<rocksdb::Slice> wanted(keys.begin(), keys.end());
    std::vector<rocksdb::PinnableSlice> found(keys.size());
    std::vector<rocksdb::Status> statuses(keys.size());
    db_->MultiGet({}, handle(family), keys.size(), wanted.data(), found.data(), statuses.data());
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (statuses[i].IsNotFound()) continue;
      if (!statuses[i].ok()) return fail("read", statuses[i]);
      values[i] = found[i].ToString();
    }
    return values;
  }

  Expected<void> scan(Family family, std::string_view first, std::string_view end, const Visit& visit) const override {
    if (handle(family) == nullptr) return {};
    const rocksdb::Slice lower = slice(first);
    const rocksdb::Slice upper = slice(end);
    rocksdb::ReadOptions options;
    options.iterate_lower_bound = &lower;
    options.fill_cache = mode_ == OpenMode::read_write;  // a tool reads each block once
    if (!end.empty()) options.iterate_upper_bound = &upper;
    const std::unique_ptr<rocksdb::Iterator> place(db_->NewIterator(options, handle(family)));
    for (place->Seek(lower); place->Valid(); place->Next()) {
      if (!visit(view(place->key()), view(place->value()))) return {};
    }
    if (!place->status().ok()) return fail("read", place->status());
    return {};
  }

  Expected<void> drop(Family family, std::string_view first, std::string_view end) override {
    if (first >= end) return {};
    const Write removal{.family = family, .key = std::string(first), .value = std::nullopt, .end = std::string(end)};
    if (auto removed = commit({&removal, 1}); !removed) return removed;
    const rocksdb::Slice lower = slice(first);
    const rocksdb::Slice upper = slice(end);
    // Deletes whole tables at once. The flush then moves the tombstone out of the memtable, where every seek would have
    // to pass it.
    rocksdb::Status status = rocksdb::DeleteFilesInRange(db_.get(), handle(family), &lower, &upper, false);
    if (status.ok()) status = db_->Flush({}, handle(family));
    if (!status.ok()) return fail_for_good("removal of a range", status);
    return {};
  }

  Expected<void> checkpoint(const std::string& dir) override {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::path inside = fs::weakly_canonical(dir, error).lexically_relative(fs::weakly_canonical(dir_, error));
    if (!inside.empty() && *inside.begin() != "..")
      return bad_input("no checkpoint at " + dir + ": the directory is inside the store; name a directory outside");
    if (fs::is_directory(dir, error) && fs::is_empty(dir, error)) fs::remove(dir, error);
    if (fs::exists(dir, error))
      return bad_input("no checkpoint at " + dir + ": it is not empty; name a new or an empty directory");
    if (!fs::is_directory(fs::absolute(dir).parent_path(), error)) {
      return bad_input("no checkpoint at " + dir + ": its parent directory does not exist");
    }
    rocksdb::Checkpoint* made = nullptr;
    rocksdb::Status status = rocksdb::Checkpoint::Create(db_.get(), &made);
    const std::unique_ptr<rocksdb::Checkpoint> owner(made);
    if (status.ok()) status = made->CreateCheckpoint(dir);
    if (!status.ok()) return fail("checkpoint to " + dir, status);
    return {};
  }

  Expected<Space> space() override {
    if (!space_) return Space{};
    const auto seen = space_->measure();
    if (!seen) return seen;
    for (BlobGarbage& garbage : garbage_) garbage.update(space_->spare_bytes(*seen));
    return seen;
  }

  CommitLog* commit_log() override { return &log_; }

  // Merges small tables at the start, because a short run of the broker has no other time for it.
  Expected<void> merge_tables() {
    KQ_TRY_VALUE(const auto seen, space());
    if (seen.nearly_full) return {};  // merging needs space first and returns it later
    const rocksdb::Status status = merge_small_tables(*db_, handles_);
    if (!status.ok()) return fail_for_good("merging small tables", status);
    return {};
  }

  // Returns whether nothing was ever written to the store.
  bool is_new() const { return db_->GetLatestSequenceNumber() == 0; }

 private:
  rocksdb::ColumnFamilyHandle* handle(Family family) const { return handles_[static_cast<std::size_t>(family)]; }

  rocksdb::Status append(rocksdb::WriteBatch& batch, const Write& write) const {
    if (handle(write.family) == nullptr) return rocksdb::Status::NotSupported("opened for reading");
    if (write.value) return batch.Put(handle(write.family), write.key, *write.value);
    if (write.end.empty()) return batch.Delete(handle(write.family), write.key);
    if (write.key >= write.end) return {};  // RocksDB would accept such a range and fail in a later flush
    return batch.DeleteRange(handle(write.family), write.key, write.end);
  }

  tl::unexpected<Error> fail(const std::string& what, const rocksdb::Status& status) const {
    return our_fault("store at " + dir_ + ": " + what + " failed: " + status.ToString());
  }

  // After a failed sync the page cache may hold data that the disk does not, so no later sync can be trusted.
  tl::unexpected<Error> fail_for_good(const std::string& what, const rocksdb::Status& status) {
    broken_ = fail(what, status).value();
    return failure(*broken_);
  }

  const std::string dir_;
  const OpenMode mode_;
  const Env env_;  // outlives db_
  std::unique_ptr<rocksdb::DB> db_;
  const std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  std::list<BlobGarbage> garbage_;
  std::optional<DiskSpace> space_;
  RocksCommitLog log_;
  std::optional<Error> broken_;
  rocksdb::WriteBatch batch_;  // of the last commit; its memory is reused by the next one
};

// ---- opening --------------------------------------------------------------------------------------------------------

// Returns whether a store has files of this name. A directory with nothing else may hold a store whose creation was
// interrupted before CURRENT was written.
bool is_rocksdb_file(const std::string& name) {
  for (const std::string_view start : {"LOG", "LOCK", "IDENTITY", "MANIFEST-", "OPTIONS-", "lost+found"}) {
    if (name.starts_with(start)) return true;
  }
  for (const std::string_view end : {".log", ".dbtmp", ".sst", ".blob"}) {
    if (name.ends_with(end)) return true;
  }
  return name == kReserveFile;
}

// Refuses a directory that holds no store and in which none may be created.
Expected<void> check_directory(const std::string& dir, OpenMode mode) {
  namespace fs = std::filesystem;
  try {
    if (!fs::exists(dir)) {
      if (mode == OpenMode::read_only) return bad_input("no store at " + dir + ": no such directory");
      fs::create_directories(dir);
      return {};
    }
    if (!fs::is_directory(dir)) return bad_input("no store at " + dir + ": it is not a directory");
    if (holds_store(dir)) return {};
    if (mode == OpenMode::read_only) return bad_input("no store at " + dir + ": the directory does not hold one");
    for (const fs::directory_entry& entry : fs::directory_iterator(dir)) {
      const std::string name = entry.path().filename().string();
      if (is_rocksdb_file(name)) continue;
      return bad_input("no store at " + dir + ": it holds other files ('" + name +
                       "'); name a new or an empty directory");
    }
    return {};
  } catch (const fs::filesystem_error& error) {
    return bad_input("no store at " + dir + ": " + error.code().message());
  }
}

// Returns whether anything was ever committed. Creating a store leaves no such files.
bool holds_data(const std::string& dir) {
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    const auto kind = entry.path().extension();
    std::error_code gone;
    if ((kind == ".log" || kind == ".sst" || kind == ".blob") && entry.file_size(gone) > 0 && !gone) return true;
  }
  return false;
}

// Returns the name of the file that CURRENT names.
std::string manifest(const std::string& dir) {
  std::string name;
  std::getline(std::ifstream(std::filesystem::path(dir) / "CURRENT"), name);
  return (std::filesystem::path(dir) / name).string();
}

// Refuses damage that RocksDB would skip silently.
Expected<void> check_logs(const std::string& dir) {
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    const std::string name = entry.path().filename().string();
    // A MANIFEST that CURRENT does not name was being written and is not used.
    if (!name.ends_with(".log") && entry.path().string() != manifest(dir)) continue;
    KQ_TRY_VALUE(const auto state, check_wal_tail(entry.path().string(), WalCheck::headers));
    if (state.tail != WalTail::damaged) continue;
    return our_fault("store at " + dir + " is damaged: " + name + " is broken after byte " +
                     std::to_string(state.good_bytes) + ", and records follow; restore a backup");
  }
  return {};
}

// Cuts off the torn record that a loss of power left at the end of the file. Returns whether there was one.
Expected<bool> cut_torn_tail(const std::string& path, const RocksStoreOptions& options) {
  KQ_TRY_VALUE(const auto state, check_wal_tail(path, WalCheck::checksums));
  if (state.tail != WalTail::torn) return false;
  const std::uint64_t bytes = std::filesystem::file_size(path);
  const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  const bool cut = file >= 0 && ftruncate(file, static_cast<off_t>(state.good_bytes)) == 0 && fsync(file) == 0;
  if (file >= 0) close(file);
  if (!cut) return our_fault(path + ": its torn end cannot be cut off: " + sys::error_text(errno));
  options.note(path + ": the last " + std::to_string(bytes - state.good_bytes) +
               " bytes were torn by a loss of power and belonged to no acknowledged commit; they are cut off");
  return true;
}

tl::unexpected<Error> cannot_open(const std::string& dir, const rocksdb::Status& status) {
  std::string words = status.ToString();
  while (words.ends_with('\n')) words.pop_back();
  if (status.IsIOError() &&
      (words.find("lock file") != std::string::npos || words.find("lock hold") != std::string::npos)) {
    return bad_input("store at " + dir +
                     " is in use by a running broker; ask the broker, stop it, or name another directory");
  }
  if (status.IsCorruption()) return our_fault("store at " + dir + " is damaged: " + words);
  return our_fault("store at " + dir + " cannot be opened: " + words);
}

using Families = std::vector<rocksdb::ColumnFamilyDescriptor>;

// Opens the families `wanted`. A store of an older kq that is opened for reading may lack some of them: those get a
// null handle.
Expected<std::unique_ptr<RocksStore>> open_families(const std::string& dir, OpenMode mode, const Env& env,
                                                    const Families& wanted, std::optional<DiskSpace> space,
                                                    std::uint64_t kept_log_bytes = 0) {
  const rocksdb::DBOptions options = db_options(dir, mode, env.get(), kept_log_bytes);
  Families present = wanted;
  if (mode == OpenMode::read_only) {
    std::vector<std::string> names;
    if (const auto listed = rocksdb::DB::ListColumnFamilies(options, dir, &names); !listed.ok()) {
      return cannot_open(dir, listed);
    }
    std::erase_if(present, [&](const auto& family) { return std::ranges::find(names, family.name) == names.end(); });
  }
  rocksdb::DB* db = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> opened;
  const rocksdb::Status status = mode == OpenMode::read_only
                                     ? rocksdb::DB::OpenForReadOnly(options, dir, present, &opened, &db)
                                     : rocksdb::DB::Open(options, dir, present, &opened, &db);
  if (!status.ok()) return cannot_open(dir, status);
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  for (const auto& family : wanted) {
    const auto place = std::ranges::find(opened, family.name, [](auto* handle) { return handle->GetName(); });
    handles.push_back(place == opened.end() ? nullptr : *place);
  }
  return std::make_unique<RocksStore>(dir, mode, env, std::unique_ptr<rocksdb::DB>(db), std::move(handles),
                                      std::move(space));
}

// Returns the schema of the store, or an error if it may not be opened in this mode.
Expected<std::uint32_t> check_schema(const std::string& dir, OpenMode mode, const RocksStore& store) {
  KQ_TRY_VALUE(const auto schema, store.get(Family::meta, kSchemaKey));
  if (!schema && store.is_new()) return kSchemaVersion;
  if (!schema) return bad_input("store at " + dir + " has no schema version: it is not a store of kq");
  std::uint32_t number = 0;
  std::from_chars(schema->data(), schema->data() + schema->size(), number);
  const bool is_older = number >= kOldestSchema && number < kSchemaVersion;
  if (number == kSchemaVersion || (is_older && mode == OpenMode::read_write)) return number;
  const std::string what =
      "store at " + dir + " has schema " + *schema + ", this program reads " + std::to_string(kSchemaVersion);
  if (is_older) return bad_input(what + "; start kq-broker on it once, which brings it up to date");
  return bad_input(what + "; use the version of kq that wrote it, or name another directory");
}

// Cuts torn records off the files in which a loss of power leaves them. Returns whether there were any.
Expected<bool> cut_torn_tails(const std::string& dir, const RocksStoreOptions& options) {
  if (!holds_store(dir)) return false;
  // In a store that another process has open, a record that looks torn is still being written.
  rocksdb::Env* env = options.env == nullptr ? rocksdb::Env::Default() : options.env;
  rocksdb::FileLock* lock = nullptr;
  const rocksdb::Status locked = env->LockFile(dir + "/LOCK", &lock);
  if (!locked.ok()) return cannot_open(dir, locked);
  Expected<bool> is_cut = false;
  for (const std::string& path : {manifest(dir), newest_log(dir)}) {
    if (!std::filesystem::is_regular_file(path)) continue;
    const auto cut = cut_torn_tail(path, options);
    is_cut = cut ? Expected<bool>(*is_cut || *cut) : cut;
    if (!is_cut) break;
  }
  env->UnlockFile(lock);
  return is_cut;
}

// Checks an existing store before it is opened for writing, so that a store of another schema is not changed, and
// returns its schema. A store whose creation was interrupted is not checked.
Expected<std::uint32_t> check_existing(const std::string& dir, OpenMode mode, const Env& env) {
  KQ_TRY(check_logs(dir));
  std::vector<std::string> names;
  const rocksdb::DBOptions reading = db_options(dir, OpenMode::read_only, env.get());
  const rocksdb::Status status = rocksdb::DB::ListColumnFamilies(reading, dir, &names);
  if (!status.ok()) return cannot_open(dir, status);
  if (std::ranges::find(names, to_string(Family::meta)) == names.end()) {
    if (names.size() == 1 && !holds_data(dir)) return kSchemaVersion;
    if (names.size() == 1)
      return our_fault("store at " + dir + " is damaged: its MANIFEST does not list its data; restore a backup");
    return bad_input("store at " + dir + " has no schema version: it is not a store of kq");
  }
  auto families = all_families();
  families = {families.front(), families.back()};  // meta, and the default family that RocksDB requires
  KQ_TRY_VALUE(auto store, open_families(dir, OpenMode::read_only, env, families, std::nullopt));
  return check_schema(dir, mode, *store);
}

// Removes unfinished OPTIONS files of openings that were killed; RocksDB does not remove them. The store is open, so no
// other process writes such files.
void remove_unfinished_options(const std::string& dir) {
  std::error_code gone;
  for (std::filesystem::directory_iterator file(dir, gone), end; !gone && file != end; file.increment(gone)) {
    const std::string name = file->path().filename();
    std::error_code stays;  // a file that cannot be removed does no harm
    if (name.starts_with("OPTIONS-") && name.ends_with(".dbtmp")) std::filesystem::remove(file->path(), stays);
  }
}

Expected<std::unique_ptr<Store>> try_open(const std::string& dir, OpenMode mode, const Env& env,
                                          const RocksStoreOptions& options) {
  Expected<std::uint32_t> schema = kSchemaVersion;
  if (holds_store(dir)) schema = check_existing(dir, mode, env);
  if (!schema) return failure(std::move(schema.error()));
  std::optional<DiskSpace> space;
  if (mode == OpenMode::read_write) {
    // DiskSpace comes first, because opening a store on a full disk needs the space of its reserve file.
    KQ_TRY_VALUE(auto watched, DiskSpace::watch(dir, options.space));
    space = std::move(watched);
  }
  KQ_TRY_VALUE(auto store,
               open_families(dir, mode, env, all_families(options.compacts), std::move(space), options.kept_log_bytes));
  if (mode == OpenMode::read_write) remove_unfinished_options(dir);
  if (options.follows) return std::unique_ptr<Store>(std::move(store));
  if (mode == OpenMode::read_write && store->is_new()) {
    const Write named{Family::meta, std::string(kSchemaKey), std::to_string(kSchemaVersion)};
    KQ_TRY(store->commit({&named, 1}));
  }
  if (mode == OpenMode::read_write && options.compacts) {
    KQ_TRY(store->merge_tables());
  }
  KQ_TRY(migrate(*store, *schema, options.note));
  return std::unique_ptr<Store>(std::move(store));
}

// The files of a directory with their sizes and times of change. While a process writes to the store, the listing
// changes often.
using Listing = std::map<std::string, std::pair<std::uintmax_t, std::filesystem::file_time_type>>;

Listing files_of(const std::string& dir) {
  Listing files;
  // Set when a file or the directory is gone: the listing then differs from the one before or the next one.
  std::error_code gone;
  for (const auto& entry : std::filesystem::directory_iterator(dir, gone)) {
    files[entry.path().filename()] = {entry.file_size(gone), entry.last_write_time(gone)};
  }
  return files;
}

// Opens the store for reading, possibly while another process writes. An error is final only if no file changed during
// the attempt; otherwise the opening is repeated.
Expected<std::unique_ptr<Store>> open_secondary(const std::string& dir, const RocksStoreOptions& options) {
  const auto files = options.env == nullptr ? rocksdb::FileSystem::Default() : options.env->GetFileSystem();
  for (int attempts_left = kOpenAttemptsMax - 1;; --attempts_left) {
    const Listing before = files_of(dir);
    auto store = try_open(dir, OpenMode::read_only, rocksdb::NewCompositeEnv(secondary_file_system(files)), options);
    if (store || attempts_left == 0 || files_of(dir) == before) return store;
  }
}

}  // namespace

bool holds_store(const std::string& dir) {
  return std::filesystem::exists(std::filesystem::path(dir) / "CURRENT");
}

Expected<std::unique_ptr<Store>> open_rocks_store(const std::string& dir, OpenMode mode,
                                                  const RocksStoreOptions& options) {
  KQ_TRY(check_directory(dir, mode));
  if (options.follows && !holds_store(dir))
    return bad_input("no store at " + dir + ": there is nothing to follow with");
  if (mode == OpenMode::read_only) return open_secondary(dir, options);
  const Env env(std::shared_ptr<void>(), options.env);
  auto store = try_open(dir, mode, env, options);
  if (store || store.error().kind != ErrorKind::our_fault) return store;
  KQ_TRY_VALUE(const auto is_cut, cut_torn_tails(dir, options));
  return is_cut ? try_open(dir, mode, env, options) : std::move(store);
}

}  // namespace kq::store
