#include "tests/sim/disk.h"

#include <utility>

#include "core/codec.h"

namespace kq::sim {
namespace {

std::vector<Write> without_leases(std::span<const Write> writes) {
  std::vector<Write> kept;
  for (const Write& write : writes) {
    const bool is_lease = write.family == Family::state && decode<JobRecord>(*write.value)->state == JobState::leased;
    if (!is_lease) kept.push_back(write);
  }
  return kept;
}

}  // namespace

Expected<void> Disk::commit(std::span<const Write> writes) {
  const CrashPoint crash = std::exchange(crash_at_, CrashPoint::none);
  if (crash == CrashPoint::before_commit) {
    if (plant_ == Plant::torn_commit) make_safe(writes.first(writes.size() / 2));
    return our_fault(std::string(kCrash) + " before the commit");
  }
  (void)seen_.commit(writes);
  switch (plant_) {
    case Plant::send_before_persist:
      make_safe(std::exchange(unsafe_, {writes.begin(), writes.end()}));
      break;
    case Plant::lease_not_saved:
      make_safe(without_leases(writes));
      break;
    default:
      make_safe(writes);
  }
  if (crash == CrashPoint::after_commit) return our_fault(std::string(kCrash) + " after the commit");
  return {};
}

void Disk::make_safe(std::span<const Write> writes) {
  oracle_.committing(writes, safe_);
  (void)safe_.commit(writes);
}

void Disk::lose_unsafe() {
  unsafe_.clear();
  seen_ = safe_;
  crash_at_ = CrashPoint::none;
}

Expected<std::optional<std::string>> Disk::get(Family family, std::string_view key) const {
  if (plant_ == Plant::no_dedupe && family == Family::ids) return std::nullopt;
  return seen_.get(family, key);
}

Expected<void> Disk::scan(Family family, std::string_view first, std::string_view end, const Visit& visit) const {
  return seen_.scan(family, first, end, visit);
}

}  // namespace kq::sim
