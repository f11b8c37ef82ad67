// Looks at a broker again and again on a thread of its own, so that a screen answers keys while the broker does not
// answer.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "producer/client/client.h"
#include "tools/top/client_source.h"
#include "tools/top/session.h"

namespace kq::tools {

inline constexpr std::int64_t kSilenceShownMs = 2'500;  // after which a missing answer is shown

class Watcher {
 public:
  // Starts to look. The thread gets no signals, and ends a question that it waits for when the Watcher is destroyed.
  Watcher(producer::Client client, std::function<std::int64_t()> unix_now_ms, std::int64_t interval_ms);
  ~Watcher();

  // Stops looking after the present look, or goes on at once.
  void pause(bool paused);

  Snapshot snapshot() const;
  std::uint64_t look_count() const;  // looks that have ended, successful or not

 private:
  void look_again_and_again();

  const std::function<std::int64_t()> unix_now_ms_;
  const std::int64_t interval_ms_;
  std::atomic<bool> is_stopping_ = false;
  ClientSource source_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool is_paused_ = false;
  std::int64_t looking_since_ms_ = 0;  // 0 between two looks
  bool is_silent_ = false;             // whether the last look ended without an answer
  Snapshot last_;
  std::uint64_t look_count_ = 0;

  std::thread thread_;
};

}  // namespace kq::tools
