// Fuzzes the keys of the store. The order of their bytes must be the order of what they encode, and a key of one run
// must not be in the range of another run.
#include "core/base/check.h"
#include "store/keys.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

namespace {

// Removes NUL bytes. Names have none, because they are validated before a key is made.
std::string name_of(std::string_view bytes) {
  std::string name(bytes);
  std::erase(name, '\0');
  return name;
}

// Checks that a key that can be decoded is encoded to the same bytes, and that it is in the range of its own lane only.
void check_places(std::string_view a, std::string_view b) {
  const auto first = store::queue_place_from(a);
  const auto second = store::queue_place_from(b);
  if (first) {
    KQ_CHECK(store::queue_key(first->lane, first->seq) == a);
    KQ_CHECK(store::queue_key(first->lane, 0) <= a && a < store::queue_end(first->lane));
  }
  if (first && second && first->lane != second->lane)
    KQ_CHECK(b < store::queue_key(first->lane, 0) || b >= store::queue_end(first->lane));
  if (const auto timer = store::timer_place_from(a)) KQ_CHECK(store::timer_key(*timer) == a);
  // Several encodings of a value, unlike those of a key, decode to the same value: every flag except 0 means true.
  if (const auto value = store::timer_value_from(a)) {
    const std::string written = store::timer_value(value->first, value->second);
    const auto again = store::timer_value_from(written);
    KQ_CHECK(again && store::timer_value(again->first, again->second) == written);
  }
  if (const auto number = store::number_from(store::kClassPrefix, a))
    KQ_CHECK(store::numbered_key(store::kClassPrefix, *number) == a);
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = fuzz::text_of(data, size);
  check_places(rest, rest);
  check_places(rest.substr(0, rest.size() / 2), rest.substr(rest.size() / 2));
  const auto a = store::sequence_from(rest.substr(0, 8));
  KQ_CHECK(a.has_value() == (rest.size() >= 8));
  if (!a) return 0;
  KQ_CHECK(store::sequence_key(*a) == fuzz::take(rest, 8));
  if (const auto b = store::sequence_from(rest.substr(0, 8)))
    KQ_CHECK((*a < *b) == (store::sequence_key(*a) < store::sequence_key(*b)));
  KQ_CHECK(!store::sequence_from(rest) || rest.size() == 8);

  const std::size_t run_size = fuzz::take_byte(rest);
  const std::string run = name_of(fuzz::take(rest, run_size));
  const std::size_t other_size = fuzz::take_byte(rest);
  const std::string other = name_of(fuzz::take(rest, other_size));
  const std::string label = name_of(rest);
  const auto is_in = [](const std::string& key, const std::string& of) {
    return store::run_prefix(of) <= key && key < store::run_prefix_end(of);
  };
  KQ_CHECK(is_in(store::run_key(run, label), run));
  KQ_CHECK(run == other || !is_in(store::run_key(run, label), other));
  return 0;
}
