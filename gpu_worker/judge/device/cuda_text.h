// The parts that the texts of the judge's kernels share.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace kq::judge::cuda {

// EACH of the texts of kernels. Every thread takes the elements %i, %i + %step, ... that are less than %n.
inline constexpr std::string_view kEach = R"(mov.u32 %block, %ctaid.x;
  mov.u32 %threads, %ntid.x;
  mov.u32 %thread, %tid.x;
  mov.u32 %blocks, %nctaid.x;
  mul.wide.u32 %i, %block, %threads;
  cvt.u64.u32 %at, %thread;
  add.u64 %i, %i, %at;
  mul.wide.u32 %step, %blocks, %threads;
NEXT:
  setp.ge.u64 %p, %i, %n;
  @%p bra DONE;)";

// Returns the pattern with every name replaced by its value, one name after another.
inline std::string filled(std::string_view pattern,
                          std::initializer_list<std::pair<std::string_view, std::string>> values) {
  std::string text(pattern);
  for (const auto& [name, value] : values) {
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + value.size()))
      text.replace(at, name.size(), value);
  }
  return text;
}

}  // namespace kq::judge::cuda
