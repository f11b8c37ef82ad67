// A store that counts what the broker asks of it, and that checks each result: a job has one result for ever.
//
// The counts do not depend on the machine, unlike times. A test can therefore compare the work per job of a small queue
// with that of a large one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/job.h"
#include "store/store.h"

namespace kq::sim {

// The work that a store was asked for.
struct StoreWork {
  std::uint64_t read_count = 0;     // keys that were read one by one
  std::uint64_t scan_count = 0;     // scans that were begun
  std::uint64_t visit_count = 0;    // keys that scans visited
  std::uint64_t write_count = 0;    // keys that were set or removed
  std::uint64_t commit_count = 0;   // commits with at least one write
  std::int64_t commit_cpu_ns = 0;   // processor time of the calling thread
  std::int64_t commit_wall_ns = 0;  // with the wait for the disk

  friend StoreWork operator-(StoreWork a, const StoreWork& b);
};

// Forwards every call to another store, which outlives it.
class CountingStore final : public store::Store {
 public:
  // The jobs have the sequence numbers from 1 to `job_count`.
  CountingStore(store::Store& store, std::uint64_t job_count) : store_(store), is_finished_(job_count + 1) {}

  Expected<void> commit(std::span<const store::Write> writes) override;
  Expected<std::optional<std::string>> get(store::Family family, std::string_view key) const override;
  Expected<Values> get_many(store::Family family, std::span<const std::string> keys) const override;
  Expected<void> scan(store::Family family, std::string_view first, std::string_view end,
                      const Visit& visit) const override;
  Expected<void> drop(store::Family family, std::string_view first, std::string_view end) override;
  Expected<store::Space> space() override { return store_.space(); }

  const StoreWork& work() const { return work_; }
  std::uint64_t finished_count() const { return finished_count_; }
  std::uint64_t doubled_count() const { return doubled_count_; }  // results of jobs that had one
  std::uint64_t unknown_count() const { return unknown_count_; }  // results of jobs that were not submitted

 private:
  void take_result(const store::Write& write);

  store::Store& store_;
  mutable StoreWork work_;
  std::vector<bool> is_finished_;  // by sequence number
  std::uint64_t finished_count_ = 0;
  std::uint64_t doubled_count_ = 0;
  std::uint64_t unknown_count_ = 0;
};

}  // namespace kq::sim
