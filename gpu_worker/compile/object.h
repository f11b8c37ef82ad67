// Packs an entry of the build cache into a BuildObject for another worker's cache, and unpacks it.
//
// The content of an object is the entry's list (one line "SHA-256 size name" for each file, as .entry in cache.h), an
// empty line, and the files' bytes in the same order. The object has the byte '4' and the content as one LZ4 block, or
// the byte 'r' and the plain content if that is not larger. Unpacking treats the bytes as hostile: it bounds sizes,
// accepts only names without directories, and compares every file with its line.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/build_object.h"

namespace kq::worker {

inline constexpr std::size_t kObjectContentBytesMax = 64u << 20;  // unpacked

// One line of an entry's list.
struct ListedFile {
  std::string hex;
  std::uintmax_t bytes = 0;
  std::string name;
};
// Reads an entry's list. Returns nothing if a line is invalid or its name has a directory.
std::optional<std::vector<ListedFile>> parse_entry_list(const std::string& text);

// Packs the entry in the directory `entry`. Fails with ErrorKind::bad_input if it is larger than an object may be.
Expected<BuildObject> pack_object(const std::string& entry, DeviceKind kind, const std::string& arch, const Hash& key);

// Writes the files of an object into the empty directory `dir`. Fails with ErrorKind::bad_input if the object is
// invalid.
Expected<void> unpack_object(const BuildObject& object, const std::string& dir);

}  // namespace kq::worker
