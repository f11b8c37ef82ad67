// A file on a file system that both brokers share says which broker serves.
//
// Theory of operation. The serving broker writes the file anew several times per takeover time, each time with a higher
// beat. The other broker reads the file, and measures by its own clock for how long the beat has not changed; clocks of
// two machines are never compared. After the whole takeover time it may write itself into the file with a higher epoch.
// The serving broker stops serving when its last write is three quarters of that time ago, so it stops before another
// one begins, also if it was frozen or lost the file system: it reads its own clock before each reply. A write replaces
// the file, so that no reader sees half of it.
//
// A lease is taken under a lock on FILE.lock. It is renewed without the lock, because a holder that was frozen with the
// lock would keep the other broker from taking over. If a late renewal of an earlier holder replaces the file, the
// present holder replaces it again: the higher epoch wins.
//
// `standby` names the only broker that has every acknowledged job. Another one than that and the holder must not serve.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "core/base/error.h"

namespace kq::broker {

inline constexpr std::string_view kAnyStandby = "*";    // acknowledged jobs may be missing in a standby; any may serve
inline constexpr std::string_view kNoStandby = "none";  // the holder alone has every acknowledged job

// The content of the file.
struct LeaseRecord {
  std::uint64_t epoch = 0;
  std::uint64_t beat = 0;
  bool is_released = false;  // the holder ended in order
  std::string holder{};      // host and store
  std::string standby{kNoStandby};
  std::string url{};  // where the holder serves

  friend bool operator==(const LeaseRecord&, const LeaseRecord&) = default;
};

// Returns an empty optional if there is no such file yet, and an error if the file cannot be read or is no lease.
Expected<std::optional<LeaseRecord>> read_lease(const std::string& path);

// Observes the lease of another broker.
class LeaseWatch {
 public:
  explicit LeaseWatch(std::int64_t takeover_ms) : takeover_ms_(takeover_ms) {}
  // Takes the record as it was read at this time. Returns whether its holder has ended or has not written it for the
  // whole takeover time.
  bool is_over(const LeaseRecord& record, std::int64_t now_ms);

 private:
  const std::int64_t takeover_ms_;
  std::optional<LeaseRecord> seen_;
  std::int64_t since_ms_ = 0;
};

// A lease that this broker holds. A thread renews it. The destructor releases it.
class HeldLease {
 public:
  struct Options {
    std::string path;
    std::int64_t takeover_ms = 2'000;
    // The thread stops renewing if touch() was not called for so long, because the broker's loop hangs.
    std::int64_t stuck_ms = 30'000;
  };

  // Writes `record` if the file still holds `before`. Returns null if another broker was faster.
  static Expected<std::unique_ptr<HeldLease>> take(const Options& options, const std::optional<LeaseRecord>& before,
                                                   LeaseRecord record);
  ~HeldLease();

  // Whether the broker may send replies now. Once it returns false it never returns true again.
  bool is_valid() const;
  void touch();
  // Names the standby that may take over, and returns when the file says so.
  Expected<void> set_standby(const std::string& name);

 private:
  HeldLease(Options options, LeaseRecord record, std::int64_t renewed_ms);
  void run();
  // Writes the record with a new beat. Returns false if the file names another epoch: the lease is lost.
  Expected<bool> renew(bool is_synced);

  const Options options_;
  std::mutex mutex_;  // guards record_ and stop_
  std::condition_variable changed_;
  LeaseRecord record_;
  bool stop_ = false;
  std::atomic<std::int64_t> renewed_ms_;
  mutable std::atomic<bool> lost_ = false;
  std::atomic<std::int64_t> touched_ms_;
  std::thread thread_;
};

}  // namespace kq::broker
