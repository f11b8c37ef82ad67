// Reads the tensors that workloads name in files with the ending .safetensors.
//
// Such a file has 8 bytes with the length of its header, the header, which is JSON with the dtype, the shape and the
// place of each tensor, and the bytes of the tensors.
#pragma once

#include <filesystem>

#include "core/base/error.h"
#include "producer/client/json.h"

namespace kq::producer::flashinfer {

inline constexpr std::size_t kTensorHeaderBytesMax = 16u << 20;
inline constexpr std::size_t kTensorBytesMax = 64u << 20;  // of one tensor, before it is packed
inline constexpr std::size_t kTensorsBytesMax = 900'000;   // of all tensors of a problem, packed

// Returns an object with the tensors that inputs of the type safetensors name, by "PATH:KEY": {"dtype": "I32", "shape":
// [4], "data": TEXT}, where the text is base64 of the bytes that zlib has packed. A path is relative to `root`; leading
// folders of a path that lead nowhere are left out. Fails with bad input where a tensor is missing or too large.
Expected<Json> tensors_of(const JsonArray& workloads, const std::filesystem::path& root);

}  // namespace kq::producer::flashinfer
