// Locks by key, with which the concurrent builds of one worker build each thing once, and the time limit of such waits.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>

#include "core/base/error.h"
#include "core/bytes/hash.h"
#include "core/verdict.h"

namespace kq::worker {

// The time limit of the work of a build in this process, which judges sources or waits: no child's limit ends that.
struct BuildTime {
  std::stop_token stop = {};
  std::int64_t end_ms = 0;
  std::int64_t limit_ms = 0;  // the limit that ends at end_ms, for the verdict

  // Returns nothing while there is time left, the verdict timed_out after that, or an Error after a stop.
  std::optional<Expected<Verdict>> over() const;
};

// A set of locked keys. A build locks the key of what it builds; others that want the same wait and find it in the
// cache, or go on without it.
class KeyLocks {
 public:
  // Holds the lock on one key until its destruction.
  class Hold {
   public:
    Hold(KeyLocks& locks, Hash key, const BuildTime& time);  // waits while there is time; may end without the lock
    Hold(KeyLocks& locks, Hash key, std::try_to_lock_t);     // does not wait for the lock
    bool is_held() const { return is_held_; }
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    KeyLocks& locks_;
    Hash key_;
    bool is_held_ = false;
  };

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::set<Hash> locked_;
};

}  // namespace kq::worker
