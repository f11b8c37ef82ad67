// The store on disk. The broker opens it for reading and writing and is then its only writer; tools open it for
// reading.
#pragma once

#include <memory>
#include <string>

#include "store/store.h"

namespace kq {

enum class OpenMode { read_write, read_only };

// read_write creates `dir` where it is missing and refuses a store that another process holds open.
// read_only writes nothing into `dir`; it sees what was committed when it was opened, also beside a broker.
// Both refuse a store of another kSchemaVersion.
Expected<std::unique_ptr<Store>> open_rocks_store(const std::string& dir, OpenMode mode);

}  // namespace kq
