#include "tools/cli/natural_order.h"

#include <algorithm>

namespace kq::tools {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Removes the digits at the beginning of the text, and returns them without leading zeros.
std::string_view take_number(std::string_view& text) {
  const auto end = static_cast<std::size_t>(std::ranges::find_if_not(text, is_digit) - text.begin());
  std::string_view digits = text.substr(0, end);
  text.remove_prefix(end);
  digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
  return digits;
}

std::strong_ordering order_of(std::string_view a, std::string_view b) {
  return a.compare(b) <=> 0;
}

}  // namespace

std::strong_ordering natural_order(std::string_view a, std::string_view b) {
  std::string_view left = a, right = b;
  while (!left.empty() && !right.empty()) {
    if (is_digit(left.front()) && is_digit(right.front())) {
      const std::string_view first = take_number(left), second = take_number(right);
      if (const auto by_length = first.size() <=> second.size(); by_length != 0) return by_length;
      if (const auto by_digits = order_of(first, second); by_digits != 0) return by_digits;
    } else {
      if (const auto by_byte = order_of(left.substr(0, 1), right.substr(0, 1)); by_byte != 0) return by_byte;
      left.remove_prefix(1);
      right.remove_prefix(1);
    }
  }
  if (const auto by_rest = left.size() <=> right.size(); by_rest != 0) return by_rest;
  return order_of(a, b);
}

}  // namespace kq::tools
