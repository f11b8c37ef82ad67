// An entry of the build cache as the bytes of a BuildObject: for another worker's cache.
//
// '4' and one LZ4 block, or 'r' where that would be no smaller, and: the entry's list (a line "SHA-256 size name" for
// each file, as .entry in build/cache.h), an empty line, and the files' bytes in that order. Whoever unpacks it takes
// the bytes for hostile: sizes are bounded, names are plain, and every file is what its line says.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/build_object.h"

namespace kq::worker {

inline constexpr std::size_t kObjectContentBytesMax = 64u << 20;  // unpacked

// A line of an entry's list.
struct ListedFile {
  std::string hex;
  std::uintmax_t bytes = 0;
  std::string name;
};
// Nothing where a line is none, or names no plain file.
std::optional<std::vector<ListedFile>> parse_entry_list(const std::string& text);

// Bad input where the entry is larger than an object may be.
Expected<BuildObject> pack_object(const std::string& entry, DeviceKind kind, const std::string& arch, const Hash& key);

// Writes the files into `dir`, which is there and empty. Bad input says what is wrong with the object.
Expected<void> unpack_object(const BuildObject& object, const std::string& dir);

}  // namespace kq::worker
