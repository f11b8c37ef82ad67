// The formats of floating-point numbers: how a dtype is stored, and how a stored number becomes one that the host
// computes with. A complex number has two parts of such a format.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace kq::judge {

// How a floating-point dtype is stored, and the type in which it is compared, which holds every stored value exactly.
struct Double {
  using Stored = double;
  using Value = double;
  static constexpr std::size_t kParts = 1;
  static Value value(Stored stored) { return stored; }
};
struct Single {
  using Stored = float;
  using Value = float;
  static constexpr std::size_t kParts = 1;
  static Value value(Stored stored) { return stored; }
};
struct ComplexDouble : Double {
  static constexpr std::size_t kParts = 2;
};
struct ComplexSingle : Single {
  static constexpr std::size_t kParts = 2;
};
struct Half {
  using Stored = std::uint16_t;
  using Value = float;
  static constexpr std::size_t kParts = 1;
  // Scaling by 2^112 moves the exponent of a half to that of a float, subnormals included; infinity and NaN keep their
  // all-ones.
  static Value value(Stored stored) {
    const std::uint32_t magnitude = (stored & 0x7FFFu) << 13;
    const auto scaled = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112f);
    const std::uint32_t special = magnitude >= 0x0F800000u ? 0x7F800000u : 0u;
    return std::bit_cast<float>(scaled | special | ((stored & 0x8000u) << 16));
  }
};
struct Brain {
  using Stored = std::uint16_t;
  using Value = float;
  static constexpr std::size_t kParts = 1;
  static Value value(Stored stored) { return std::bit_cast<float>(static_cast<std::uint32_t>(stored) << 16); }
};

struct ComplexHalf : Half {
  static constexpr std::size_t kParts = 2;
};

// What tells the formats of eight bits apart. Their values are few, so each format has a table of them.
struct Eight {
  int mantissa_bits;
  int bias;
  enum class Special { ieee, nan_only, unsigned_zero } special;  // infinities and NaNs; NaN 0x7F; NaN 0x80 and no -0
};
constexpr float power_of_two(int exponent) {
  float value = 1;
  for (; exponent > 0; --exponent) value *= 2;
  for (; exponent < 0; ++exponent) value /= 2;
  return value;
}
constexpr float decoded_eight(const Eight& format, unsigned stored) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const unsigned magnitude = stored & 0x7Fu;
  const int exponent = static_cast<int>(magnitude >> format.mantissa_bits);
  const unsigned mantissa = magnitude & ((1u << format.mantissa_bits) - 1);
  const float sign = stored >= 0x80u ? -1.0f : 1.0f;
  if (format.special == Eight::Special::unsigned_zero && stored == 0x80u) return kNan;
  if (format.special == Eight::Special::nan_only && magnitude == 0x7Fu) return kNan;
  if (format.special == Eight::Special::ieee && magnitude >= 0x7Cu)
    return mantissa == 0 ? sign * std::numeric_limits<float>::infinity() : kNan;
  const float fraction =
      static_cast<float>(mantissa) / power_of_two(format.mantissa_bits) + (exponent > 0 ? 1.0f : 0.0f);
  return sign * fraction * power_of_two((exponent > 0 ? exponent : 1) - format.bias);
}
template <Eight format>
struct EightBits {
  using Stored = std::uint8_t;
  using Value = float;
  static constexpr std::size_t kParts = 1;
  static constexpr std::array<float, 256> kValues = [] {
    std::array<float, 256> values{};
    for (unsigned i = 0; i < values.size(); ++i) values[i] = decoded_eight(format, i);
    return values;
  }();
  static Value value(Stored stored) { return kValues[stored]; }
};
using E4m3fn = EightBits<Eight{3, 7, Eight::Special::nan_only}>;
using E5m2 = EightBits<Eight{2, 15, Eight::Special::ieee}>;
using E4m3fnuz = EightBits<Eight{3, 8, Eight::Special::unsigned_zero}>;
using E5m2fnuz = EightBits<Eight{2, 16, Eight::Special::unsigned_zero}>;
// Eight bits of exponent: a power of two.
struct E8m0 {
  using Stored = std::uint8_t;
  using Value = float;
  static constexpr std::size_t kParts = 1;
  static Value value(Stored stored) {
    return stored == 0xFF ? std::numeric_limits<float>::quiet_NaN() : std::ldexp(1.0f, stored - 127);
  }
};

}  // namespace kq::judge
