#include "tests/faults/commits.h"

#include <optional>
#include <random>

namespace kq::faults {
namespace {

constexpr std::size_t kValueBytesMax = 60'000;

std::string value_of(Sequence n, std::size_t bytes) {
  std::mt19937_64 random(n);
  std::string value(bytes, '\0');
  for (char& byte : value) byte = static_cast<char>(random());
  return value;
}

}  // namespace

std::vector<store::Write> batch(Sequence n) {
  const std::string key = store::sequence_key(n);
  std::mt19937_64 random(n * 7919);
  const std::size_t bytes = random() % 4 == 0 ? random() % kValueBytesMax : random() % 600;
  return {{store::Family::state, key, value_of(n, random() % 200)},
          {store::Family::blob, key, value_of(n + 1, bytes)},
          {store::Family::ids, key, key},
          {.family = store::Family::ids, .key = store::sequence_key(0), .value = std::nullopt, .end = key},
          {store::Family::meta, std::string(store::kNextSequenceKey), store::sequence_key(n + 1)}};
}

Expected<Sequence> commits_in(const store::Store& store) {
  KQ_TRY_VALUE(const auto next, store.get(store::Family::meta, store::kNextSequenceKey));
  return next ? store::sequence_from(*next).value() - 1 : 0;
}

std::string validate(const store::Store& store, Sequence n) {
  for (Sequence i = 1; i <= n; ++i) {
    for (const store::Write& write : batch(i)) {
      if (!write.value || write.family == store::Family::meta) continue;
      const bool gone = write.family == store::Family::ids && i < n;
      const auto found = store.get(write.family, write.key);
      if (!found) return found.error().message;
      if (*found != (gone ? std::nullopt : write.value)) return "commit " + std::to_string(i) + " is incomplete";
    }
  }
  for (const store::Family family : {store::Family::state, store::Family::blob, store::Family::ids}) {
    const auto found = store.get(family, store::sequence_key(n + 1));
    if (!found) return found.error().message;
    if (*found) return "a part of commit " + std::to_string(n + 1) + " is there";
  }
  return "";
}

}  // namespace kq::faults
