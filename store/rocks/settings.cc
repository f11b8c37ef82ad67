#include "store/rocks/settings.h"

#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>
#include <rocksdb/write_buffer_manager.h>

#include <memory>

#include "store/rocks/direct_log.h"
#include "store/rocks/info_log.h"
#include "store/rocks/memtable.h"
#include "store/rocks/preallocation.h"
#include "store/rocks/readahead.h"

namespace kq::store {
namespace {

static_assert(SpaceMarks{}.low_bytes >= kMemtableBytesMax + kWriteAheadLogBytesMax,
              "a disk that is nearly full has room for what is in RAM, and for a log");

constexpr std::size_t kFamilies = kEnumNames<Family>.size();

// Values of this size and above stay out of the tables, so that compaction does not rewrite them: nearly every source,
// packed. A table has some 100 bytes in place of each.
constexpr std::size_t kBlobBytesMin = 256;
constexpr double kMemtableFilterShare = 0.02;  // of the memtable: a new key is known to be new without a search in it
constexpr double kFilterBitsPerKey = 10;       // one lookup in a hundred reads a block for nothing

// Keys in no order: every table overlaps every other, and levels would write all that lies in the first one anew for
// each little that comes. Runs of tables that are merged where they are of one size write a record some five times in a
// store of ten million, not twenty. Whether a run has a key its filter says.
void compact_by_size(rocksdb::ColumnFamilyOptions& options) {
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
}

// After an error a store is finished and its process ends. RocksDB would try to recover by itself behind kq's back: it
// then flushes what the failed flush left half done, on which this version aborts, and waits seconds for room on a full
// disk.
class NoRecovery final : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status, bool* auto_recovery) override {
    *auto_recovery = false;
  }
};

rocksdb::ColumnFamilyOptions family_options(Family family, const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  // Big filter and index blocks would push one another out of the cache: a lookup then costs two hundred times as much.
  table.cache_index_and_filter_blocks = false;

  rocksdb::ColumnFamilyOptions options;
  options.compression = rocksdb::kLZ4Compression;
  options.memtable_factory = sorted_leaves();
  options.write_buffer_size = 16 * kMegabyte;
  switch (family) {
    case Family::ids:  // asked about every submission, most of them new; in no order, so that a large memtable is slow
      compact_by_size(options);
      table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kFilterBitsPerKey));
      options.memtable_prefix_bloom_size_ratio = kMemtableFilterShare;
      options.memtable_whole_key_filtering = true;
      options.write_buffer_size = 8 * kMegabyte;
      break;
    case Family::blob:  // asked likewise; the value is large, never changed, and compressed by whoever made it
      compact_by_size(options);
      table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kFilterBitsPerKey));
      options.memtable_prefix_bloom_size_ratio = kMemtableFilterShare;
      options.memtable_whole_key_filtering = true;
      options.compression = rocksdb::kNoCompression;
      options.enable_blob_files = true;
      options.min_blob_size = kBlobBytesMin;
      options.blob_compression_type = rocksdb::kNoCompression;
      [[fallthrough]];
    case Family::body:  // most of the bytes: a flush has room to fall behind before a commit waits for it
      options.write_buffer_size = 64 * kMegabyte;
      options.max_write_buffer_number = 4;
      break;
    case Family::state:  // overwritten at each change of a job's life: the older versions die in memory
    case Family::result:
    case Family::samples:
      options.write_buffer_size = 32 * kMegabyte;
      break;
    case Family::object:  // large, compressed by whoever made it, and soon gone
      options.compression = rocksdb::kNoCompression;
      options.enable_blob_files = true;
      options.min_blob_size = kBlobBytesMin;
      break;
    case Family::meta:
    case Family::run:
    case Family::board:
    case Family::queue:
    case Family::timer:
    case Family::dead:
    case Family::reuse:
      break;
  }
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

}  // namespace

rocksdb::DBOptions db_options(const std::string& dir, OpenMode mode, rocksdb::Env* env) {
  rocksdb::DBOptions options;
  // Made once and never unmade, as RocksDB's own is: threads of any store may use it until the process ends.
  static rocksdb::Env* const roomy =
      rocksdb::NewCompositeEnv(with_reads_ahead(with_log_room(with_direct_logs(rocksdb::FileSystem::Default()))))
          .release();
  options.env = env != nullptr ? env : roomy;
  options.create_if_missing = mode == OpenMode::read_write;
  options.create_missing_column_families = mode == OpenMode::read_write;
  // Reusing old log files and the recovery mode below do not go together: this RocksDB crashes on it.
  options.recycle_log_file_num = 0;
  // A torn last record was never acknowledged and is dropped. Damage anywhere before it refuses to open; the default
  // mode would drop everything after the damage without a word.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  // A log that is missing, or shorter than it was when the next one was begun, is damage and not a torn tail.
  options.track_and_verify_wals_in_manifest = true;
  // Otherwise a family that is seldom written keeps every log file alive, and a restart replays them all.
  options.max_total_wal_size = kWriteAheadLogBytesMax;
  // Table files reach the disk in steps, not in one burst that a commit would have to wait behind.
  options.bytes_per_sync = kMegabyte;
  // The default starts sixteen threads in each family to open its few tables: two hundred threads to open a store.
  options.max_file_opening_threads = 1;
  // One flush and two compactions: what lives in many blob files may be written anew for minutes
  // (rocks_store_garbage.h), and others must not wait for that.
  options.max_background_jobs = 3;
  options.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(kMemtableBytesMax);
  options.listeners.push_back(std::make_shared<NoRecovery>());
  options.max_bgerror_resume_count = 0;
  // One thread commits, and the memtables are made for one (rocks_store_memtable.h).
  options.allow_concurrent_memtable_write = false;
  // A store opened for reading writes nothing.
  if (mode == OpenMode::read_write) options.info_log = open_info_log(dir);
  return options;
}

std::vector<rocksdb::ColumnFamilyDescriptor> all_families(bool compacts) {
  const auto cache = rocksdb::NewLRUCache(kBlockCacheBytes);
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (std::size_t i = 0; i < kFamilies; ++i) {
    families.emplace_back(std::string(kEnumNames<Family>[i]), family_options(static_cast<Family>(i), cache));
  }
  for (auto& family : families) family.options.disable_auto_compactions = !compacts;
  families.emplace_back(rocksdb::kDefaultColumnFamilyName, rocksdb::ColumnFamilyOptions{});
  return families;
}

}  // namespace kq::store
