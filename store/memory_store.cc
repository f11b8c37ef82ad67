#include "store/memory_store.h"

namespace kq::store {

Expected<void> MemoryStore::commit(std::span<const Write> writes) {
  if (failure_) return our_fault(*failure_);
  for (const Write& write : writes) {
    Table& table = tables_[static_cast<std::size_t>(write.family)];
    if (write.value) {
      table.insert_or_assign(write.key, *write.value);
    } else if (write.end.empty()) {
      table.erase(write.key);
    } else if (write.key < write.end) {
      table.erase(table.lower_bound(write.key), table.lower_bound(write.end));
    }
  }
  return {};
}

Expected<std::optional<std::string>> MemoryStore::get(Family family, std::string_view key) const {
  const auto place = table(family).find(key);
  if (place == table(family).end()) return std::nullopt;
  return place->second;
}

Expected<void> MemoryStore::scan(Family family, std::string_view first, std::string_view end,
                                 const Visit& visit) const {
  for (auto place = table(family).lower_bound(first); place != table(family).end(); ++place) {
    if (!end.empty() && place->first >= end) break;
    if (!visit(place->first, place->second)) break;
  }
  return {};
}

}  // namespace kq::store
