// The interface of every fuzz target: one function that gets arbitrary bytes. It returns if the checked code behaves,
// and aborts the process with KQ_CHECK if not.
//
// In the `fuzz` preset libFuzzer calls the function (scripts/fuzz). In every other build replay_main.cc calls it for
// each file of the corpus, as a test.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace kq::fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// These remove one byte, or up to n bytes, from the front of the input and return them. At the end of the input
// take_byte() returns 0 and take() returns fewer bytes.
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
