#include "store/rocks/settings.h"

#include <rocksdb/cache.h>
#include <rocksdb/env.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/listener.h>
#include <rocksdb/table.h>
#include <rocksdb/write_buffer_manager.h>

#include <memory>

#include "store/rocks/info_log.h"
#include "store/rocks/memtable.h"
#include "store/rocks/readahead.h"

namespace kq::store {
namespace {

static_assert(SpaceMarks{}.low_bytes >= kMemtableBytesMax + kWriteAheadLogBytesMax,
              "a disk that is nearly full has room for what is in RAM, and for a log");

constexpr std::size_t kFamilies = kEnumNames<Family>.size();

// Values of this size and above are stored in blob files, so that compaction does not rewrite them. Nearly every packed
// source is that long. A table holds some 100 bytes in place of each value.
constexpr std::size_t kBlobBytesMin = 256;
constexpr double kMemtableFilterShare = 0.02;  // of the memtable; the filter recognises most new keys without a search
constexpr double kFilterBitsPerKey = 10;       // one lookup in a hundred reads a block in vain

// For families whose keys have no order. There every table overlaps every other, and leveled compaction would rewrite
// the whole first level for each small table. Universal compaction merges runs of equal size and writes a record about
// five times in a store of ten million, instead of twenty. Filters tell which run has a key.
void compact_by_size(rocksdb::ColumnFamilyOptions& options) {
  options.compaction_style = rocksdb::kCompactionStyleUniversal;
}

// Turns off RocksDB's recovery from errors, because kq ends the process after an error. The recovery would repeat a
// failed flush, on which this version aborts, and wait seconds for space on a full disk.
class NoRecovery final : public rocksdb::EventListener {
 public:
  void OnErrorRecoveryBegin(rocksdb::BackgroundErrorReason, rocksdb::Status, bool* auto_recovery) override {
    *auto_recovery = false;
  }
};

rocksdb::ColumnFamilyOptions family_options(Family family, const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  // Large filter and index blocks would evict one another from the cache, and a lookup would cost two hundred times as
  // much.
  table.cache_index_and_filter_blocks = false;

  rocksdb::ColumnFamilyOptions options;
  options.compression = rocksdb::kLZ4Compression;
  options.memtable_factory = sorted_leaves();
  options.write_buffer_size = 16 * kMegabyte;
  switch (family) {
    case Family::ids:  // read for every submission, mostly for new keys, in no order, so that a large memtable is slow
      compact_by_size(options);
      table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kFilterBitsPerKey));
      options.memtable_prefix_bloom_size_ratio = kMemtableFilterShare;
      options.memtable_whole_key_filtering = true;
      options.write_buffer_size = 8 * kMegabyte;
      break;
    case Family::blob:  // read likewise; values are large, never changed, and already compressed
      compact_by_size(options);
      table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(kFilterBitsPerKey));
      options.memtable_prefix_bloom_size_ratio = kMemtableFilterShare;
      options.memtable_whole_key_filtering = true;
      options.compression = rocksdb::kNoCompression;
      options.enable_blob_files = true;
      options.min_blob_size = kBlobBytesMin;
      options.blob_compression_type = rocksdb::kNoCompression;
      [[fallthrough]];
    case Family::body:  // most of the bytes; a flush may fall behind before a commit has to wait for it
      options.write_buffer_size = 64 * kMegabyte;
      options.max_write_buffer_number = 4;
      break;
    case Family::state:  // overwritten at each change of a job's state: older versions are dropped in memory
    case Family::result:
    case Family::samples:
      options.write_buffer_size = 32 * kMegabyte;
      break;
    case Family::object:  // large, already compressed, and soon removed
      options.compression = rocksdb::kNoCompression;
      options.enable_blob_files = true;
      options.min_blob_size = kBlobBytesMin;
      break;
    case Family::meta:
    case Family::run:
    case Family::board:
    case Family::kernel:
    case Family::queue:
    case Family::timer:
    case Family::dead:
    case Family::reuse:
    case Family::sender:
    case Family::owner:
      break;
  }
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

}  // namespace

rocksdb::DBOptions db_options(const std::string& dir, OpenMode mode, rocksdb::Env* env, std::uint64_t kept_log_bytes) {
  rocksdb::DBOptions options;
  options.WAL_size_limit_MB = (kept_log_bytes + kMegabyte - 1) / kMegabyte;
  // Created once and never destroyed, like RocksDB's default Env: threads of any store may use it until the process
  // ends.
  static rocksdb::Env* const reading_ahead =
      rocksdb::NewCompositeEnv(with_reads_ahead(rocksdb::FileSystem::Default())).release();
  options.env = env != nullptr ? env : reading_ahead;
  options.create_if_missing = mode == OpenMode::read_write;
  options.create_missing_column_families = mode == OpenMode::read_write;
  // This version of RocksDB crashes if old log files are reused in the recovery mode below.
  options.recycle_log_file_num = 0;
  // A torn last record was never acknowledged and is dropped. Damage anywhere before it makes the opening fail; the
  // default mode would silently drop everything after the damage.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  // A log that is missing, or shorter than it was when the next one was begun, is damaged and not torn.
  options.track_and_verify_wals_in_manifest = true;
  // Without this limit, a family that is seldom written keeps every log file, and a restart replays them all.
  options.max_total_wal_size = kWriteAheadLogBytesMax;
  // Writes table files to the disk in steps, not in one burst for which a commit would have to wait.
  options.bytes_per_sync = kMegabyte;
  // By default each family starts sixteen threads to open its few tables, two hundred threads for one store.
  options.max_file_opening_threads = 1;
  // Allows one flush and two compactions: rewriting the live values of many blob files may take minutes
  // (store/rocks/blob_garbage.h), and other work must not wait for that.
  options.max_background_jobs = 3;
  options.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(kMemtableBytesMax);
  options.listeners.push_back(std::make_shared<NoRecovery>());
  options.max_bgerror_resume_count = 0;
  // Only one thread commits, and the memtables are made for one writer (store/rocks/memtable.h).
  options.allow_concurrent_memtable_write = false;
  // A store that is opened for reading writes no files.
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
