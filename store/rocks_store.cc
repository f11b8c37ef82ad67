#include "store/rocks_store.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>
#include <rocksdb/write_buffer_manager.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "core/records.h"
#include "store/keys.h"

namespace kq {
namespace {

constexpr std::size_t kFamilies = kEnumNames<Family>.size();
constexpr std::size_t kMegabyte = std::size_t{1} << 20;

// ---- settings -------------------------------------------------------------------------------------------------------

constexpr std::size_t kBlockCacheBytes = 128 * kMegabyte;
constexpr std::size_t kMemtableBytesMax = 256 * kMegabyte;  // of all families together
constexpr std::size_t kLogFilesMax = 4;                     // RocksDB's own information logs

rocksdb::DBOptions db_options(OpenMode mode) {
  rocksdb::DBOptions options;
  options.create_if_missing = mode == OpenMode::read_write;
  options.create_missing_column_families = mode == OpenMode::read_write;
  // Reusing old log files and the recovery mode below do not go together: this RocksDB crashes on it.
  options.recycle_log_file_num = 0;
  // A torn last record was never acknowledged and is dropped. Damage anywhere before it refuses to open; the default
  // mode would drop everything after the damage without a word.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  // Otherwise a family that is seldom written keeps every log file alive, and a restart replays them all.
  options.max_total_wal_size = 256 * kMegabyte;
  // Table files reach the disk in steps, not in one burst that a commit would have to wait behind.
  options.bytes_per_sync = kMegabyte;
  options.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(kMemtableBytesMax);
  // The information log is for a person; a store opened for reading writes none.
  options.info_log_level = rocksdb::InfoLogLevel::WARN_LEVEL;
  options.max_log_file_size = kMegabyte;
  options.keep_log_file_num = kLogFilesMax;
  return options;
}

rocksdb::ColumnFamilyOptions family_options(Family family, const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  // Big filter and index blocks would push one another out of the cache: a lookup then costs a hundred times as much.
  table.cache_index_and_filter_blocks = false;

  rocksdb::ColumnFamilyOptions options;
  options.compression = rocksdb::kLZ4Compression;
  options.write_buffer_size = 16 * kMegabyte;
  switch (family) {
    case Family::ids:  // asked about every submission, most of them new
      table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
      break;
    case Family::blob:  // asked likewise, and the value is large
      table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
      [[fallthrough]];
    case Family::body:  // put once, read a few times: values stay out of the tables, so that compaction does not
                        // rewrite them
      options.enable_blob_files = true;
      options.min_blob_size = 2048;
      options.blob_compression_type = rocksdb::kLZ4Compression;
      options.enable_blob_garbage_collection = true;
      options.write_buffer_size = 64 * kMegabyte;
      break;
    case Family::result:
    case Family::samples:
      options.write_buffer_size = 32 * kMegabyte;
      break;
    case Family::meta:
    case Family::state:
    case Family::run:
    case Family::board:
      break;
  }
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

// One column family per Family, in its order, then the one that RocksDB insists on and kq does not use.
std::vector<rocksdb::ColumnFamilyDescriptor> all_families() {
  const auto cache = rocksdb::NewLRUCache(kBlockCacheBytes);
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (std::size_t i = 0; i < kFamilies; ++i) {
    families.emplace_back(std::string(kEnumNames<Family>[i]), family_options(static_cast<Family>(i), cache));
  }
  families.emplace_back(rocksdb::kDefaultColumnFamilyName, rocksdb::ColumnFamilyOptions{});
  return families;
}

// ---- the open store -------------------------------------------------------------------------------------------------

rocksdb::Slice slice(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}
std::string_view view(const rocksdb::Slice& bytes) {
  return {bytes.data(), bytes.size()};
}

class RocksStore final : public Store {
 public:
  RocksStore(std::string dir, std::unique_ptr<rocksdb::DB> db, std::vector<rocksdb::ColumnFamilyHandle*> handles)
      : dir_(std::move(dir)), db_(std::move(db)), handles_(std::move(handles)) {}

  ~RocksStore() override {
    for (rocksdb::ColumnFamilyHandle* handle : handles_) db_->DestroyColumnFamilyHandle(handle);
  }

  Expected<void> commit(std::span<const Write> writes) override {
    if (writes.empty()) return {};
    rocksdb::WriteBatch batch;
    rocksdb::Status status;
    for (const Write& write : writes) {
      status = write.value ? batch.Put(handle(write.family), write.key, *write.value)
                           : batch.Delete(handle(write.family), write.key);
      if (!status.ok()) return fail("commit", status);
    }
    rocksdb::WriteOptions options;
    options.sync = true;
    // From here on, if this is ok, the writes survive whatever happens to the process or the machine.
    status = db_->Write(options, &batch);
    if (!status.ok()) return fail("commit", status);
    return {};
  }

  Expected<std::optional<std::string>> get(Family family, std::string_view key) const override {
    std::string value;
    const rocksdb::Status status = db_->Get({}, handle(family), slice(key), &value);
    if (status.IsNotFound()) return std::nullopt;
    if (!status.ok()) return fail("read", status);
    return value;
  }

  Expected<void> scan(Family family, std::string_view first, std::string_view end, const Visit& visit) const override {
    const rocksdb::Slice upper = slice(end);
    rocksdb::ReadOptions options;
    if (!end.empty()) options.iterate_upper_bound = &upper;
    const std::unique_ptr<rocksdb::Iterator> place(db_->NewIterator(options, handle(family)));
    for (place->Seek(slice(first)); place->Valid(); place->Next()) {
      if (!visit(view(place->key()), view(place->value()))) return {};
    }
    if (!place->status().ok()) return fail("read", place->status());
    return {};
  }

  // Whether nothing was ever written.
  bool is_new() const { return db_->GetLatestSequenceNumber() == 0; }

 private:
  rocksdb::ColumnFamilyHandle* handle(Family family) const { return handles_[static_cast<std::size_t>(family)]; }

  tl::unexpected<Error> fail(const std::string& what, const rocksdb::Status& status) const {
    return our_fault("store at " + dir_ + ": " + what + " failed: " + status.ToString());
  }

  const std::string dir_;
  std::unique_ptr<rocksdb::DB> db_;
  const std::vector<rocksdb::ColumnFamilyHandle*> handles_;
};

// ---- opening --------------------------------------------------------------------------------------------------------

// Names that RocksDB gives its files. Creation may have been cut short before CURRENT names a store.
bool is_rocksdb_file(const std::string& name) {
  for (const std::string_view start : {"LOG", "LOCK", "IDENTITY", "MANIFEST-", "OPTIONS-", "lost+found"}) {
    if (name.starts_with(start)) return true;
  }
  for (const std::string_view end : {".log", ".dbtmp", ".sst", ".blob"}) {
    if (name.ends_with(end)) return true;
  }
  return false;
}

bool holds_store(const std::string& dir) {
  return std::filesystem::exists(std::filesystem::path(dir) / "CURRENT");
}

// Refuses a directory in which there is no store and none may be made.
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

tl::unexpected<Error> cannot_open(const std::string& dir, const rocksdb::Status& status) {
  const std::string words = status.ToString();
  if (status.IsIOError() &&
      (words.find("lock file") != std::string::npos || words.find("lock hold") != std::string::npos)) {
    return bad_input("store at " + dir +
                     " is in use by a running broker; ask the broker, stop it, or name another directory");
  }
  if (status.IsCorruption()) return our_fault("store at " + dir + " is damaged: " + words);
  return our_fault("store at " + dir + " cannot be opened: " + words);
}

Expected<std::unique_ptr<RocksStore>> open_families(const std::string& dir, OpenMode mode,
                                                    const std::vector<rocksdb::ColumnFamilyDescriptor>& families) {
  rocksdb::DB* db = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  const rocksdb::Status status = mode == OpenMode::read_only
                                     ? rocksdb::DB::OpenForReadOnly(db_options(mode), dir, families, &handles, &db)
                                     : rocksdb::DB::Open(db_options(mode), dir, families, &handles, &db);
  if (!status.ok()) return cannot_open(dir, status);
  return std::make_unique<RocksStore>(dir, std::unique_ptr<rocksdb::DB>(db), std::move(handles));
}

Expected<void> check_schema(const std::string& dir, const RocksStore& store) {
  auto schema = store.get(Family::meta, kSchemaKey);
  if (!schema) return failure(std::move(schema.error()));
  if (!*schema && store.is_new()) return {};
  const std::string ours = std::to_string(kSchemaVersion);
  if (*schema == ours) return {};
  if (!*schema) return bad_input("store at " + dir + " has no schema version: it is not a store of kq");
  return bad_input("store at " + dir + " has schema " + **schema + ", this program reads " + ours +
                   "; use the version of kq that wrote it, or name another directory");
}

// Looks at an existing store before it is opened for writing, so that one of another schema is left as it is.
// Nothing is checked where its creation was cut short.
Expected<void> check_existing(const std::string& dir) {
  std::vector<std::string> names;
  const rocksdb::Status status = rocksdb::DB::ListColumnFamilies(db_options(OpenMode::read_only), dir, &names);
  if (!status.ok()) return cannot_open(dir, status);
  if (std::find(names.begin(), names.end(), to_string(Family::meta)) == names.end()) {
    if (names.size() == 1) return {};
    return bad_input("store at " + dir + " has no schema version: it is not a store of kq");
  }
  auto families = all_families();
  families = {families.front(), families.back()};  // meta, and the one RocksDB insists on
  auto store = open_families(dir, OpenMode::read_only, families);
  if (!store) return failure(std::move(store.error()));
  return check_schema(dir, **store);
}

}  // namespace

Expected<std::unique_ptr<Store>> open_rocks_store(const std::string& dir, OpenMode mode) {
  if (auto usable = check_directory(dir, mode); !usable) return failure(std::move(usable.error()));
  if (holds_store(dir)) {
    if (auto known = check_existing(dir); !known) return failure(std::move(known.error()));
  }
  auto store = open_families(dir, mode, all_families());
  if (!store) return failure(std::move(store.error()));
  if (mode == OpenMode::read_write && (*store)->is_new()) {
    const Write schema{Family::meta, std::string(kSchemaKey), std::to_string(kSchemaVersion)};
    if (auto written = (*store)->commit({&schema, 1}); !written) return failure(std::move(written.error()));
  }
  return std::unique_ptr<Store>(std::move(*store));
}

}  // namespace kq
