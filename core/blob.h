// Conversion between the content of a file and a Blob (core/messages.h), which is named by the hash of the content and
// is compressed where that makes it smaller.
#pragma once

#include <string>
#include <string_view>

#include "core/bytes/compress.h"
#include "core/messages.h"

namespace kq {

// Returns a blob of the content, whose SHA-256 is `hash`.
Blob packed(Compressor& compressor, const Hash& hash, std::string content);

// Returns the content of a blob, which may come from an untrusted peer. Fails with bad input where the content has more
// than kFileBytesMax bytes or does not have the hash that names the blob. The error text does not name the blob.
Expected<std::string> content_of(Decompressor& decompressor, const Blob& blob);
// Does the same without a copy. The view is valid until the next call of the decompressor and while the blob lives.
Expected<std::string_view> view_of(Decompressor& decompressor, const Blob& blob);

}  // namespace kq
