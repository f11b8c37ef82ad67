// The simulated disk: what survives a crash, and when the crash comes. Every commit passes before the oracle.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "store/memory_store.h"
#include "tests/sim/oracle.h"
#include "tests/sim/plant.h"

namespace kq::sim {

// How the Error of a commit begins in which the process is to end; any other Error is not of our making.
inline constexpr std::string_view kCrash = "crash";

enum class CrashPoint { none, before_commit, after_commit };

class Disk final : public Store {
 public:
  Disk(Oracle& oracle, Plant plant) : oracle_(oracle), plant_(plant) {}

  Expected<void> commit(std::span<const Write> writes) override;
  Expected<std::optional<std::string>> get(Family family, std::string_view key) const override;
  Expected<void> scan(Family family, std::string_view first, std::string_view end, const Visit& visit) const override;

  // The next commit is the last thing that the process tries.
  void crash_at(CrashPoint point) { crash_at_ = point; }
  // The process is gone, and with it what was not safe.
  void lose_unsafe();

  const Store& safe() const { return safe_; }

 private:
  void make_safe(std::span<const Write> writes);

  Oracle& oracle_;
  const Plant plant_;
  CrashPoint crash_at_ = CrashPoint::none;
  MemoryStore seen_;           // by the process
  MemoryStore safe_;           // after a crash
  std::vector<Write> unsafe_;  // planted: seen and not yet safe
};

}  // namespace kq::sim
