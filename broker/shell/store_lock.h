// Locks that keep two brokers from using the same store or the same address. A lock is held as long as its object
// lives.
#pragma once

#include <optional>
#include <string>

#include "core/base/error.h"
#include "sys/file_lock.h"

namespace kq::broker {

// Locks the store in directory `dir` by the file DIR.lock beside it, and creates the parent directories.
Expected<sys::FileLock> lock_store(const std::string& dir);

// Locks an ipc address, because ZeroMQ lets a second broker silently take the path from a running one. Returns nothing
// for a TCP address: the system gives a TCP port to one process only.
Expected<std::optional<sys::FileLock>> lock_address(const std::string& url);

}  // namespace kq::broker
