// A file as a Blob: named by its content, packed for the way where that makes it smaller, and checked where it arrives.
#pragma once

#include <string>
#include <string_view>

#include "core/bytes/compress.h"
#include "core/messages.h"

namespace kq {

// `hash` is the content's own.
Blob packed(Compressor& compressor, const Hash& hash, std::string content);

// The content of a blob that anybody may have sent: at most kFileBytesMax, and what its name says. Otherwise bad input,
// without the name of the blob: the caller knows which one it was.
Expected<std::string> content_of(Decompressor& decompressor, const Blob& blob);
// The same without a copy: good until the decompressor's next call, or as long as the blob.
Expected<std::string_view> view_of(Decompressor& decompressor, const Blob& blob);

}  // namespace kq
