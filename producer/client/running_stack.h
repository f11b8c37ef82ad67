// The record of the broker that `kq up` or `kq sweep` runs, in the lock file of a state folder. Programs find that
// broker by it without an option; tools/stack/state_folder.h writes it.
//
// The lock belongs to an open file, so the kernel releases it when the process that holds it ends, for whatever reason.
// A record in a file without a lock was left by a stack that ended uncleanly.
#pragma once

#include <fcntl.h>
#include <sys/types.h>

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace kq::producer {

// Which processes belong to a stack, as written in the lock file.
struct StackRecord {
  pid_t pid = 0;                // the process that runs the stack
  std::string url;              // URL of the broker; empty until the broker listens
  std::vector<pid_t> children;  // the broker, the worker and the gateway
  // Submitters that the process has paused while its own jobs run. They are resumed when it ends, or by the next stack.
  std::vector<std::string> paused{};

  friend bool operator==(const StackRecord&, const StackRecord&) = default;
};

// Returns the text of a record as it is in the lock file: lines of the form "word value".
std::string text_of(const StackRecord& record);

// Parses the file. Returns nothing for a file without a process. Unknown words are skipped.
std::optional<StackRecord> read_record(const std::string& path);

// Returns the path of the lock file of a state folder.
std::string lock_file_of(const std::string& state_folder);

// Applies `command` (F_OFD_SETLK or F_OFD_GETLK) for a lock of the whole file. Such a lock belongs to the open file,
// not to the process, and can be queried without being taken.
bool apply_lock(int fd, int command, struct flock& lock);

// Returns the record of the stack that holds the lock of the folder; nothing when the lock is free or there is no such
// folder. The record is empty while the stack is starting.
std::optional<StackRecord> holder_of(const std::string& state_folder);

// Returns the value of an environment variable, or an empty string when it is not set.
using Environment = std::function<std::string(const char* name)>;
std::string process_environment(const char* name);

// Returns $XDG_STATE_HOME/kq, else ~/.local/state/kq.
Expected<std::string> default_state_folder(const Environment& environment);

// Returns the path of the file that has the path of the state folder of this user's last `kq up`.
std::string last_up_file_of(const std::string& default_state_folder);
// Returns the state folder of this user's last `kq up`. Returns an empty string if none is known, or if the folder
// belongs to another user or every user may write into it, because such a folder may name a broker of another user.
std::string last_up_folder(const Environment& environment);

// The broker that a program uses without an option.
struct DefaultBroker {
  std::string url;
  std::string state_folder{};  // the folder of the process that runs it; empty for a broker that was found otherwise
};
// Returns $KQ_BROKER, else the broker that runs in the state folder of the last `kq up`, else the one that runs in the
// default state folder, else the broker at the default URL.
DefaultBroker default_broker(const Environment& environment);

}  // namespace kq::producer
