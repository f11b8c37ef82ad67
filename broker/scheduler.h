// Which queued job next? Lanes of sequence numbers, one lane per wish for a device; oldest first, with a light
// preference for the problem a worker already has warm: its reference and inputs are there, and one reference run
// serves many submissions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "core/device.h"
#include "core/hash.h"
#include "core/job.h"

namespace kq {

// A worker that asks for a job.
struct Offer {
  std::span<const DeviceInfo> devices;
  bool cpu_takes_any = true;  // false while a free GPU elsewhere would take the jobs that run anywhere
  std::optional<Hash> warm_problem{};
};

// Whether this worker should run the lane's jobs on that device, now.
bool fits(const Offer& offer, const DeviceInfo& device, const Requirements& lane);

class Scheduler {
 public:
  // How far a job of the warm problem may stand behind the head of its lane, and how often the head may be passed by in
  // a row.
  static constexpr std::size_t kWarmWindow = 32;
  static constexpr std::uint32_t kPassedByMax = 32;

  void add(const Requirements& lane, Sequence seq, const Hash& problem);
  void remove(const Requirements& lane, Sequence seq);

  // The job that should run next on one of the offered devices. It stays queued until removed.
  std::optional<Sequence> choose(const Offer& offer);

  bool contains(const Requirements& lane, Sequence seq) const;
  bool empty() const { return lanes_.empty(); }
  std::size_t size() const;

 private:
  struct Queue {
    std::map<Sequence, Hash> waiting;  // never empty; the problem of each
    std::uint32_t passed_by = 0;       // how often its head was
  };

  std::map<Requirements, Queue> lanes_;
};

}  // namespace kq
