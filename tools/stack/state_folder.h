// The state folder of a stack, with the store, the worker's state, the logs and a lock.
//
//   DIR/lock        locked while a stack uses the folder; contains the StackRecord, empty after a clean end
//   DIR/store       the store of the broker
//   DIR/worker      the state of the worker: build cache, scratch files
//   DIR/*.log       the logs of the programs
//   DIR/last-up     in the default state folder: the path of the state folder of the last `kq up`
//
// producer/client/running_stack.h has the lock and its record, which every program reads.
#pragma once

#include <optional>
#include <string>

#include "core/base/error.h"
#include "producer/client/running_stack.h"

namespace kq::tools {

using producer::default_state_folder;
using producer::Environment;
using producer::holder_of;
using producer::last_up_folder;
using producer::process_environment;
using producer::StackRecord;

// A state folder whose lock this process holds.
class StateFolder {
 public:
  // Locks the folder, which is created with access for its owner alone if it is missing. Returns bad input when another
  // stack holds the lock; the message names the process and the URL of its broker.
  static Expected<StateFolder> take(const std::string& folder);
  StateFolder(StateFolder&& other) noexcept;
  StateFolder& operator=(StateFolder&& other) = delete;
  ~StateFolder();

  const std::string& path() const { return path_; }  // an absolute path
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  // The record of the last stack in this folder, if that stack did not end cleanly.
  const std::optional<StackRecord>& stale_record() const { return stale_record_; }

  void write(const StackRecord& record);
  void clear();

 private:
  StateFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::string path_;
  int lock_ = -1;
  std::optional<StackRecord> stale_record_;
};

// Records the folder as that of this user's last `kq up`, so that programs find its broker without an option. Does
// nothing where the default state folder cannot be written.
void record_last_up(const std::string& folder, const Environment& environment);

// The URL of a socket that only this user reaches.
struct PrivateEndpoint {
  std::string url;
  std::string created_folder;  // the folder that was created for the socket and must be removed; empty for none
};
// Returns a socket in the state folder, or in a new temporary folder when the path in the state folder is too long for
// a socket address.
Expected<PrivateEndpoint> private_endpoint(const std::string& state_folder, const Environment& environment);

}  // namespace kq::tools
