#include "store/rocks/small_tables.h"

#include <string>

namespace kq::store {
namespace {

// Adjacent small tables of one level.
struct Run {
  int level = 0;
  std::vector<std::string> names;
};

// Returns the runs of adjacent small tables of each level. Level 0 is left to RocksDB: its tables overlap, and four of
// them start a compaction.
std::vector<Run> runs_of_small_tables(const rocksdb::ColumnFamilyMetaData& family) {
  std::vector<Run> runs;
  for (const rocksdb::LevelMetaData& level : family.levels) {
    if (level.level == 0) continue;
    bool continues_run = false;
    for (const rocksdb::SstFileMetaData& table : level.files) {
      if (table.size >= kSmallTableBytes || table.being_compacted) {
        continues_run = false;
        continue;
      }
      if (!continues_run || runs.back().names.size() == kMergedTablesMax) runs.push_back({level.level, {}});
      runs.back().names.push_back(table.name);
      continues_run = true;
    }
  }
  std::erase_if(runs, [](const Run& run) { return run.names.size() <= kSmallTablesMax; });
  return runs;
}

}  // namespace

rocksdb::Status merge_small_tables(rocksdb::DB& db, const std::vector<rocksdb::ColumnFamilyHandle*>& families) {
  rocksdb::CompactionOptions options;
  options.compression = rocksdb::kDisableCompressionOption;  // means the compression of the family
  for (rocksdb::ColumnFamilyHandle* family : families) {
    rocksdb::ColumnFamilyMetaData data;
    db.GetColumnFamilyMetaData(family, &data);
    for (const Run& run : runs_of_small_tables(data)) {
      const rocksdb::Status merged = db.CompactFiles(options, family, run.names, run.level);
      // These two statuses mean that RocksDB has begun to move or merge one of the tables meanwhile.
      if (!merged.ok() && !merged.IsAborted() && !merged.IsInvalidArgument()) return merged;
    }
  }
  return {};
}

}  // namespace kq::store
