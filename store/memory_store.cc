#include "store/memory_store.h"

#include <utility>

namespace kq {

Expected<void> MemoryStore::commit(std::span<const Write> writes) {
  if (failure_) return our_fault(*std::exchange(failure_, std::nullopt));
  for (const Write& write : writes) {
    Table& table = tables_[static_cast<std::size_t>(write.family)];
    if (write.value) {
      table.insert_or_assign(write.key, *write.value);
    } else {
      table.erase(write.key);
    }
  }
  return {};
}

Expected<std::optional<std::string>> MemoryStore::get(Family family, std::string_view key) const {
  const Table& table = tables_[static_cast<std::size_t>(family)];
  const auto place = table.find(key);
  if (place == table.end()) return std::nullopt;
  return place->second;
}

Expected<void> MemoryStore::scan(Family family, std::string_view first, std::string_view end,
                                 const Visit& visit) const {
  const Table& table = tables_[static_cast<std::size_t>(family)];
  for (auto place = table.lower_bound(first); place != table.end(); ++place) {
    if (!end.empty() && place->first >= end) break;
    if (!visit(place->first, place->second)) break;
  }
  return {};
}

}  // namespace kq
