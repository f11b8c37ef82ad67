#include "tests/sim/scale/counting_store.h"

#include "store/keys.h"
#include "tests/sim/scale/cpu_time.h"

namespace kq::sim {

StoreWork operator-(StoreWork a, const StoreWork& b) {
  a.read_count -= b.read_count;
  a.scan_count -= b.scan_count;
  a.visit_count -= b.visit_count;
  a.write_count -= b.write_count;
  a.commit_count -= b.commit_count;
  a.commit_cpu_ns -= b.commit_cpu_ns;
  a.commit_wall_ns -= b.commit_wall_ns;
  return a;
}

Expected<void> CountingStore::commit(std::span<const store::Write> writes) {
  const std::int64_t cpu_begun_ns = cpu_ns();
  const std::int64_t wall_begun_ns = wall_ns();
  KQ_TRY(store_.commit(writes));
  work_.commit_cpu_ns += cpu_ns() - cpu_begun_ns;
  work_.commit_wall_ns += wall_ns() - wall_begun_ns;
  work_.write_count += writes.size();
  if (!writes.empty()) ++work_.commit_count;
  for (const store::Write& write : writes) {
    if (write.family == store::Family::result && write.value) take_result(write);
  }
  return {};
}

void CountingStore::take_result(const store::Write& write) {
  const Sequence seq = store::sequence_from(write.key).value_or(0);
  if (seq == 0 || seq >= is_finished_.size()) {
    ++unknown_count_;
  } else if (is_finished_[seq]) {
    ++doubled_count_;
  } else {
    is_finished_[seq] = true;
    ++finished_count_;
  }
}

Expected<std::optional<std::string>> CountingStore::get(store::Family family, std::string_view key) const {
  ++work_.read_count;
  return store_.get(family, key);
}

Expected<store::Store::Values> CountingStore::get_many(store::Family family, std::span<const std::string> keys) const {
  work_.read_count += keys.size();
  return store_.get_many(family, keys);
}

Expected<void> CountingStore::scan(store::Family family, std::string_view first, std::string_view end,
                                   const Visit& visit) const {
  ++work_.scan_count;
  return store_.scan(family, first, end, [&](std::string_view key, std::string_view value) {
    ++work_.visit_count;
    return visit(key, value);
  });
}

Expected<void> CountingStore::drop(store::Family family, std::string_view first, std::string_view end) {
  return store_.drop(family, first, end);
}

}  // namespace kq::sim
