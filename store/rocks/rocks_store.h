// The store on disk, kept by RocksDB. The broker opens it for reading and writing and is then its only writer; tools
// open it for reading.
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

inline constexpr int kOpenAttemptsMax = 8;  // attempts to open a store for reading while its files change

// The options of open_rocks_store().
struct RocksStoreOptions {
  SpaceMarks space;  // how much disk space read_write keeps in reserve
  // Called with one sentence for each event of the opening that an operator should know and that does not stop it.
  std::function<void(const std::string&)> note = [](const std::string&) {};
  // Tests pass an Env that injects failures. It must outlive the store. Null means the Env of this machine.
  rocksdb::Env* env = nullptr;
  // Tests turn off background compactions, because this version of RocksDB aborts the process when a compaction fails.
  // For a broker such an abort is a crash like any other and loses nothing, but a test must continue.
  bool compacts = true;
  // Log files that are no longer needed by this store are kept until they have so many bytes, so that a second broker
  // can follow the log (store/commit_log.h). RocksDB removes files over the limit at most every ten minutes.
  std::uint64_t kept_log_bytes = 0;
  // The store is a copy that follows the log of another store. Opening it writes no commit of its own: it is not
  // migrated, and a directory without a store is refused.
  bool follows = false;
};

// Returns whether the directory holds a store.
bool holds_store(const std::string& dir);

// Opens the store in `dir`. read_write creates `dir` if it is missing and refuses a store that another process has
// open. read_only writes nothing to `dir`; its store shows the state at its opening, also while a broker writes
// (store/rocks/secondary.h). read_write migrates a store of an older schema (store/migration.h), read_only refuses it,
// and both refuse a newer schema.
Expected<std::unique_ptr<Store>> open_rocks_store(const std::string& dir, OpenMode mode,
                                                  const RocksStoreOptions& options = {});

}  // namespace kq::store
