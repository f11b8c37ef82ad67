#include "tests/sim/disk.h"

#include <utility>

namespace kq::sim {

Expected<void> Disk::commit(std::span<const store::Write> writes) {
  if (crash_plan_.has_crashed()) return our_fault(std::string(kInjected) + ": the process has crashed");
  const bool survives = crash_plan_.survives_effect();
  if (!survives || std::exchange(commit_fails_, false)) {
    if (context_.random.chance(0.5)) {
      make_safe(writes);  // the process is told that the commit failed
    } else if (saboteur_.is(Plant::torn_commit)) {
      make_safe(writes.first(writes.size() / 2));
    }
    return our_fault(std::string(kInjected) + (survives ? ": no space left on the disk" : ": crash in a commit"));
  }
  (void)seen_.commit(writes);
  make_safe(writes);
  return {};
}

void Disk::make_safe(std::span<const store::Write> writes) {
  const std::vector<store::Write> kept = saboteur_.on_commit(writes);
  oracle_.committing(kept, safe_);
  (void)safe_.commit(kept);
}

Expected<store::Space> Disk::space() {
  const bool nearly_full = context_.timeline.now_ms() < full_until_ms_;
  oracle_.told_space(nearly_full);
  return store::Space{.free_bytes = nearly_full ? 1u : 1u << 30, .nearly_full = nearly_full};
}

void Disk::start_again() {
  saboteur_.on_crash();
  seen_ = safe_;
  commit_fails_ = false;
  reads_left_.reset();
}

Expected<void> Disk::read() const {
  if (reads_left_ && (*reads_left_)-- == 0) return our_fault(std::string(kInjected) + ": the disk cannot be read");
  return {};
}

Expected<std::optional<std::string>> Disk::get(store::Family family, std::string_view key) const {
  KQ_TRY(read());
  auto value = seen_.get(family, key);
  if (value) saboteur_.on_get(family, *value);
  return value;
}

Expected<void> Disk::scan(store::Family family, std::string_view first, std::string_view end,
                          const Visit& visit) const {
  if (auto done = read(); !done) return done;
  return seen_.scan(family, first, end, visit);
}

}  // namespace kq::sim
