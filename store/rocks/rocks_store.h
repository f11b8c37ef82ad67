// The store on disk. The broker opens it for reading and writing and is then its only writer; tools open it for
// reading.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "store/disk_space.h"
#include "store/store.h"

namespace rocksdb {
class Env;
}

namespace kq::store {

enum class OpenMode { read_write, read_only };

inline constexpr int kLooksBesideMax = 8;  // at a store whose files change while it is opened for reading

struct RocksStoreOptions {
  SpaceMarks space;
  // What a person should know of the opening and goes on all the same, one sentence each.
  std::function<void(const std::string&)> note = [](const std::string&) {};
  // For tests: an Env that fails, which outlives the store, and no compactions in the background: this RocksDB aborts
  // the process when one meets an error. For a broker that is an end like any other, and nothing is lost; a test wants
  // to go on.
  rocksdb::Env* env = nullptr;
  bool compacts = true;
};

// read_write creates `dir` where it is missing and refuses a store that another process holds open.
// read_only writes nothing into `dir`; it sees what was committed when it was opened, also beside a broker
// (store/rocks/secondary.h). A store of an older schema is brought up to date by read_write (store/migration.h) and
// refused by read_only, one of a newer schema by both.
Expected<std::unique_ptr<Store>> open_rocks_store(const std::string& dir, OpenMode mode,
                                                  const RocksStoreOptions& options = {});

}  // namespace kq::store
