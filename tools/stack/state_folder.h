// The state folder of a stack, with the store, the worker's state, the logs and a lock.
//
//   DIR/lock        locked while a stack uses the folder; contains the StackRecord, empty after a clean end
//   DIR/store       the store of the broker
//   DIR/worker      the state of the worker: build cache, scratch files
//   DIR/*.log       the logs of the programs
//
// The lock belongs to an open file, so the kernel releases it when the process that holds it ends, for whatever reason.
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace kq::tools {

// Which processes belong to a stack, as written in the lock file.
struct StackRecord {
  pid_t pid = 0;                // the process that runs the stack
  std::string url;              // URL of the broker; empty until the broker listens
  std::vector<pid_t> children;  // the broker, the worker and the gateway
  // Submitters that the process has paused while its own jobs run. They are resumed when it ends, or by the next stack.
  std::vector<std::string> paused{};

  friend bool operator==(const StackRecord&, const StackRecord&) = default;
};

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

// Returns the record of the stack that holds the lock of the folder; nothing when the lock is free or there is no such
// folder. The record is empty while the stack is starting.
std::optional<StackRecord> holder_of(const std::string& folder);

// Returns the value of an environment variable, or an empty string when it is not set.
using Environment = std::function<std::string(const char* name)>;
// Returns $XDG_STATE_HOME/kq, else ~/.local/state/kq.
Expected<std::string> default_state_folder(const Environment& environment);
std::string process_environment(const char* name);

// The URL of a socket that only this user reaches.
struct PrivateEndpoint {
  std::string url;
  std::string created_folder;  // the folder that was created for the socket and must be removed; empty for none
};
// Returns a socket in the state folder, or in a new temporary folder when the path in the state folder is too long for
// a socket address.
Expected<PrivateEndpoint> private_endpoint(const std::string& state_folder, const Environment& environment);

}  // namespace kq::tools
