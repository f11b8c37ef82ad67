// Decides when a lane makes the archive of the driver's code (driver_cache.h) while its worker has no work.
//
// Theory of operation. The loop of the worker begins the making in the lane's thread and stops it when work comes: a
// worker measures, and eight processes that compile would disturb the measurement. The loop's thread calls begin() and
// stop(), the lane's thread end().
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <stop_token>

namespace kq::worker {

// A lane begins the making at most so often, because each begin drops the reference that the lane keeps for the next
// job, and each stop wastes what was compiled. A job that uses the code makes the archive itself.
inline constexpr std::uint32_t kArchiveBeginsMax = 3;

class ArchiveAhead {
 public:
  // Returns the token of a new begin, or nothing where the making runs, has ended by itself, or was stopped too often.
  std::optional<std::stop_token> begin();
  // Says that the making of this token has ended.
  void end(const std::stop_token& stop);
  // Stops the making, if it runs. The next begin() begins it anew.
  void stop() { stop_.request_stop(); }

 private:
  std::stop_source stop_;  // of the last begin
  std::uint32_t begins_ = 0;
  std::atomic<bool> is_running_{false};
  std::atomic<bool> has_ended_{false};  // by itself
};

}  // namespace kq::worker
