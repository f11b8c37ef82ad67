#include "store/store.h"

namespace kq::store {

Expected<Store::Values> Store::get_many(Family family, std::span<const std::string> keys) const {
  Values values;
  values.reserve(keys.size());
  for (const std::string& key : keys) {
    KQ_TRY_VALUE(auto value, get(family, key));
    values.push_back(std::move(value));
  }
  return values;
}

Expected<void> Store::drop(Family family, std::string_view first, std::string_view end) {
  if (first >= end) return {};
  const Write removal{.family = family, .key = std::string(first), .value = std::nullopt, .end = std::string(end)};
  return commit({&removal, 1});
}

Expected<void> Store::checkpoint(const std::string& dir) {
  return bad_input("no checkpoint at " + dir + ": this store has no files; only a store on disk can be copied");
}

Expected<Space> Store::space() {
  return Space{};
}

}  // namespace kq::store
