// The bytes of a tensor in a request: base64, raw or compressed by zlib. They are checked here and packed anew, because
// the file of a problem has little room.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/error.h"

namespace kq::gateway::evaluation {

// Returns the bytes of base64 text. Blanks and line ends are ignored. The error continues a sentence about the text.
Expected<std::string> decode_base64(std::string_view text);

// Returns what zlib has compressed, which must have exactly `size` bytes; memory for more is never taken.
Expected<std::string> inflate(std::string_view compressed, std::size_t size);

// Returns the bytes compressed by zlib, in the alphabet of Python's base64.b85encode().
std::string pack(std::string_view bytes);

}  // namespace kq::gateway::evaluation
