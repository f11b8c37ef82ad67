// The simulated disk: what survives when the process ends, and when it ends or the disk fails. A commit is whole or
// not there at all, as the store promises; which of the two shows only after the crash. Every commit passes before the
// oracle.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "store/memory_store.h"
#include "tests/sim/nature.h"
#include "tests/sim/oracle.h"
#include "tests/sim/plant.h"

namespace kq::sim {

// In every Error of our making; any other one that ends the broker is a finding.
inline constexpr std::string_view kInjected = "injected";

// The end of a process, planned: it comes between two of its effects, or within one.
class Lifeline {
 public:
  void cut_after(std::uint32_t effects) { left_ = effects; }
  void renew() { left_.reset(), is_cut_ = false; }
  void cut() { is_cut_ = true; }
  bool is_cut() const { return is_cut_; }
  // Whether the process still is when this effect begins.
  bool holds() {
    if (left_ && (*left_)-- == 0) is_cut_ = true;
    return !is_cut_;
  }

 private:
  std::optional<std::uint32_t> left_;
  bool is_cut_ = false;
};

class Disk final : public store::Store {
 public:
  Disk(Nature& nature, Oracle& oracle, Lifeline& life, Saboteur& saboteur)
      : nature_(nature), oracle_(oracle), life_(life), saboteur_(saboteur) {}

  Expected<void> commit(std::span<const store::Write> writes) override;
  Expected<std::optional<std::string>> get(store::Family family, std::string_view key) const override;
  Expected<void> scan(store::Family family, std::string_view first, std::string_view end,
                      const Visit& visit) const override;

  Expected<store::Space> space() override;

  void fill_for(std::int64_t ms) { full_until_ms_ = nature_.timeline.now_ms() + ms; }
  void fail_next_commit() { commit_fails_ = true; }
  void fail_read_after(std::uint32_t reads) { reads_left_ = reads; }
  // The process is gone, and with it what was not safe.
  void start_again();

  const store::Store& safe() const { return safe_; }

 private:
  Expected<void> read() const;
  void make_safe(std::span<const store::Write> writes);

  Nature& nature_;
  Oracle& oracle_;
  Lifeline& life_;
  Saboteur& saboteur_;
  store::MemoryStore seen_;  // by the process
  store::MemoryStore safe_;  // after a crash
  bool commit_fails_ = false;
  std::int64_t full_until_ms_ = 0;
  mutable std::optional<std::uint32_t> reads_left_;
};

}  // namespace kq::sim
