// Base64 (RFC 4648), for bytes inside text.
#pragma once

#include <string>
#include <string_view>

namespace kq {

std::string base64(std::string_view bytes);  // with padding, without line ends

}  // namespace kq
