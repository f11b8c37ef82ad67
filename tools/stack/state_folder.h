// The folder a stack lives in: who holds it, where its broker listens, and which processes belong to it.
//
//   DIR/lock        held while the stack runs, whatever kills it; holds the record below, empty after a clean end
//   DIR/store       the broker's store
//   DIR/worker      the worker's state: build cache, scratch
//   DIR/*.log       what the programs say
#pragma once

#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace kq::tools {

struct StackRecord {
  pid_t pid = 0;                // of the one that looks after the stack
  std::string url;              // empty until its broker listens
  std::vector<pid_t> children;  // its broker and worker

  friend bool operator==(const StackRecord&, const StackRecord&) = default;
};

class StateFolder {
 public:
  // Makes the folder for its owner alone where it is missing. Bad input when another stack holds it: the sentence says
  // which and where.
  static Expected<StateFolder> take(const std::string& folder);
  StateFolder(StateFolder&& other) noexcept;
  StateFolder& operator=(StateFolder&& other) = delete;
  ~StateFolder();

  const std::string& path() const { return path_; }  // absolute
  std::string file(const std::string& name) const { return path_ + "/" + name; }

  // What the last holder left behind when it did not end cleanly.
  const std::optional<StackRecord>& stale_record() const { return stale_record_; }

  void write(const StackRecord& record);
  void clear();

 private:
  StateFolder(std::string path, int lock) : path_(std::move(path)), lock_(lock) {}

  std::string path_;
  int lock_ = -1;
  std::optional<StackRecord> stale_record_;
};

// Who holds the folder now; nothing when nobody does, or there is no such folder.
std::optional<StackRecord> holder_of(const std::string& folder);

// $XDG_STATE_HOME/kq, else ~/.local/state/kq.
using Environment = std::function<std::string(const char* name)>;  // empty where unset
Expected<std::string> default_state_folder(const Environment& environment);
std::string process_environment(const char* name);

// Broker URL of a socket only this user reaches: in the state folder, or in a folder of its own where that path is too
// long for a socket.
struct PrivateEndpoint {
  std::string url;
  std::string created_folder;  // to be removed again; empty where none was made
};
Expected<PrivateEndpoint> private_endpoint(const std::string& state_folder, const Environment& environment);

}  // namespace kq::tools
