// What builds of one worker wait for: each other, and no longer than their jobs may take.
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

// How long a build may go on in our own threads, where it reads for the guard or waits: no child's limit ends that.
struct BuildTime {
  std::stop_token stop = {};
  std::int64_t end_ms = 0;
  std::int64_t limit_ms = 0;  // that ends then; for the verdict

  // How it ends, once there is no more of it: a stop is an Error.
  std::optional<Expected<Verdict>> over() const;
};

// Who builds a key; others who want it wait, and find it in the cache, or do without.
class KeysInWork {
 public:
  class Hold {
   public:
    Hold(KeysInWork& keys, Hash key, const BuildTime& time);  // waits as long as there is time; then it is not held
    Hold(KeysInWork& keys, Hash key, std::try_to_lock_t);     // does not wait
    bool is_held() const { return is_held_; }
    ~Hold();
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    KeysInWork& keys_;
    Hash key_;
    bool is_held_ = false;
  };

 private:
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::set<Hash> keys_;
};

}  // namespace kq::worker
