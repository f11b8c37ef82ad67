// Reads a body of the type multipart/form-data (RFC 7578). The reader is pure: the bytes come from any client.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"

namespace kq::gateway {

inline constexpr std::size_t kFormPartsMax = 10'001;
inline constexpr std::size_t kFormHeadBytesMax = 4'096;  // of one part

struct FormPart {
  std::string name;
  std::string file_name;  // empty for a field that is no file
  std::string_view content;
};

// `content_type` is the header field of the request, which has the boundary. The parts point into `body`.
Expected<std::vector<FormPart>> parse_form(std::string_view content_type, std::string_view body);

}  // namespace kq::gateway
