// A store in memory that keeps the promises of RocksStore, for tests and the simulator. It outlives a simulated crash
// of the broker.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>

#include "store/store.h"

namespace kq::store {

// A store whose families are maps in memory.
class MemoryStore final : public Store {
 public:
  Expected<void> commit(std::span<const Write> writes) override;
  Expected<std::optional<std::string>> get(Family family, std::string_view key) const override;
  Expected<void> scan(Family family, std::string_view first, std::string_view end, const Visit& visit) const override;
  Expected<Space> space() override { return space_; }

  // Makes the next commit and every later one write nothing and return an our_fault error with this message, as on a
  // disk that is full or broken.
  void fail_next_commit(std::string message) { failure_ = std::move(message); }
  void set_space(Space space) { space_ = space; }

 private:
  using Table = std::map<std::string, std::string, std::less<>>;
  const Table& table(Family family) const { return tables_[static_cast<std::size_t>(family)]; }

  std::array<Table, kEnumNames<Family>.size()> tables_;
  std::optional<std::string> failure_;
  Space space_;
};

}  // namespace kq::store
