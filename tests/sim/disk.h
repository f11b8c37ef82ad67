// The simulated disk of the broker.
//
// A commit is applied whole or not at all, as the store promises. If the process crashes during a commit, or if a
// commit fails, chance decides which of the two happened; the process sees the outcome only after its next start. The
// oracle checks every commit.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "store/memory_store.h"
#include "tests/sim/context.h"
#include "tests/sim/oracle.h"
#include "tests/sim/plant.h"

namespace kq::sim {

// Part of the text of every Error that the simulator injects. Any other Error that ends the broker is a violation.
inline constexpr std::string_view kInjected = "injected";

// Says when the broker process crashes: between two of its effects, or during one. An effect is a commit or a message.
class CrashPlan {
 public:
  void crash_after(std::uint32_t effects) { left_ = effects; }
  void reset() { left_.reset(), has_crashed_ = false; }
  void crash() { has_crashed_ = true; }
  bool has_crashed() const { return has_crashed_; }
  // Counts one effect. Returns whether the process survives it.
  bool survives_effect() {
    if (left_ && (*left_)-- == 0) has_crashed_ = true;
    return !has_crashed_;
  }

 private:
  std::optional<std::uint32_t> left_;
  bool has_crashed_ = false;
};

// The store of the broker, with crashes, failing commits and reads, and a lack of space.
class Disk final : public store::Store {
 public:
  Disk(Context& context, Oracle& oracle, CrashPlan& crash_plan, Saboteur& saboteur)
      : context_(context), oracle_(oracle), crash_plan_(crash_plan), saboteur_(saboteur) {}

  Expected<void> commit(std::span<const store::Write> writes) override;
  Expected<std::optional<std::string>> get(store::Family family, std::string_view key) const override;
  Expected<void> scan(store::Family family, std::string_view first, std::string_view end,
                      const Visit& visit) const override;

  Expected<store::Space> space() override;

  void fill_for(std::int64_t ms) { full_until_ms_ = context_.timeline.now_ms() + ms; }
  void fail_next_commit() { commit_fails_ = true; }
  void fail_read_after(std::uint32_t reads) { reads_left_ = reads; }
  // Drops the commits that were not synced, and all planned faults. The caller starts a new process afterwards.
  void start_again();

  const store::Store& safe() const { return safe_; }

 private:
  Expected<void> read() const;
  void make_safe(std::span<const store::Write> writes);

  Context& context_;
  Oracle& oracle_;
  CrashPlan& crash_plan_;
  Saboteur& saboteur_;
  store::MemoryStore seen_;  // what the process reads
  store::MemoryStore safe_;  // what survives a crash
  bool commit_fails_ = false;
  std::int64_t full_until_ms_ = 0;
  mutable std::optional<std::uint32_t> reads_left_;
};

}  // namespace kq::sim
