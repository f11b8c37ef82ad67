// The name of an enumerator, which is the same in C++, on the wire, on disk, in every output and in the documents.
//
// An enum opts in with a function beside it, in its own namespace, that returns one name per enumerator, in order:
//
//   enum class Side { client, worker };
//   constexpr std::array<std::string_view, 2> enum_names(Side) { return {"client", "worker"}; }
//
// The enumerators must count from 0 without gaps.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace kq {

template <class E>
concept NamedEnum = std::is_enum_v<E> && requires(E value) {
  enum_names(value);
};

// The names of all enumerators of E, in their order.
template <NamedEnum E>
inline constexpr auto kEnumNames = enum_names(E{});

// Returns the name of `value`, which must be an enumerator of E.
template <NamedEnum E>
constexpr std::string_view to_string(E value) {
  return kEnumNames<E>[static_cast<std::size_t>(value)];
}

// Returns the enumerator with this name, or nothing if there is none.
template <NamedEnum E>
constexpr std::optional<E> parse_enum(std::string_view text) {
  for (std::size_t i = 0; i < kEnumNames<E>.size(); ++i) {
    if (kEnumNames<E>[i] == text) return static_cast<E>(i);
  }
  return std::nullopt;
}

// Returns all names in one text, for error messages: "torch, triton, cuda, torch_cuda, multi_kernel".
template <NamedEnum E>
std::string known_names() {
  std::string names;
  for (std::string_view name : kEnumNames<E>) {
    if (!names.empty()) names += ", ";
    names += name;
  }
  return names;
}

}  // namespace kq
