// What every fuzz target is: one function over bytes that somebody else wrote. It ends the process where a promise is
// broken (KQ_CHECK) and returns otherwise, whatever the bytes are.
//
// libFuzzer drives a target in the `fuzz` preset (scripts/fuzz); in every other build replay_main.cc runs it over its
// corpus, as a test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace kq::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Takes one byte, or a number of bytes, from the front; zeros and less once the input is used up.
inline std::uint8_t take_byte(std::string_view& rest) {
  if (rest.empty()) return 0;
  const auto byte = static_cast<std::uint8_t>(rest.front());
  rest.remove_prefix(1);
  return byte;
}
inline std::string_view take(std::string_view& rest, std::size_t n) {
  const std::string_view taken = rest.substr(0, n);
  rest.remove_prefix(taken.size());
  return taken;
}

}  // namespace kq::fuzz
