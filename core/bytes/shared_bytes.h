// Immutable bytes with shared ownership. A copy of a SharedBytes refers to the same memory.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace kq {

class SharedBytes {
 public:
  SharedBytes() = default;
  SharedBytes(std::string bytes) : bytes_(std::make_shared<const std::string>(std::move(bytes))) {}
  SharedBytes(const char* text) : SharedBytes(std::string(text)) {}

  std::string_view view() const { return bytes_ ? std::string_view(*bytes_) : std::string_view(); }
  operator std::string_view() const { return view(); }
  std::size_t size() const { return view().size(); }

  friend bool operator==(const SharedBytes& a, const SharedBytes& b) {
    return a.bytes_ == b.bytes_ || a.view() == b.view();
  }

 private:
  std::shared_ptr<const std::string> bytes_;  // null: no bytes
};

}  // namespace kq
