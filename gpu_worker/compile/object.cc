#include "gpu_worker/compile/object.h"

#include <fstream>
#include <sstream>

#include "core/bytes/compress.h"
#include "gpu_worker/compile/cache.h"
#include "gpu_worker/machine/scratch.h"

namespace kq::worker {
namespace {

constexpr std::string_view kEnd = "\n\n";
constexpr char kAsBlock = '4';
constexpr char kAsIs = 'r';

bool is_plain(const std::string& name) {
  return !name.empty() && name != "." && name != ".." && name != kEntryListName &&
         name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

}  // namespace

std::optional<std::vector<ListedFile>> parse_entry_list(const std::string& text) {
  std::vector<ListedFile> files;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    ListedFile file;
    std::istringstream fields(line);
    if (!(fields >> file.hex >> file.bytes) || fields.get() != ' ' || !std::getline(fields, file.name) ||
        !is_plain(file.name))
      return std::nullopt;
    files.push_back(std::move(file));
  }
  return files;
}

Expected<BuildObject> pack_object(const std::string& entry, DeviceKind kind, const std::string& arch, const Hash& key) {
  KQ_TRY_VALUE(const auto list, read_child_file(entry + "/" + std::string(kEntryListName), kEntryListBytesMax));
  const auto files = parse_entry_list(list);
  if (!files) return our_fault("the list of files is invalid: " + entry);
  std::string content = list + "\n";
  for (const ListedFile& file : *files) {
    if (file.bytes > kObjectContentBytesMax - content.size())
      return bad_input("too large: more than " + std::to_string(kObjectContentBytesMax) + " bytes");
    KQ_TRY_VALUE(const auto bytes, read_child_file(entry + "/" + file.name, file.bytes + 1));
    if (bytes.size() != file.bytes || to_hex(sha256(bytes)) != file.hex)
      return our_fault("the entry is damaged: " + entry);
    content += bytes;
  }
  Compressor compressor;
  const auto block = compressor.compress(content);
  std::string packed = block ? kAsBlock + *block : kAsIs + content;
  if (packed.size() > kObjectBytesMax)
    return bad_input("too large: " + std::to_string(packed.size()) + " bytes, at most " +
                     std::to_string(kObjectBytesMax));
  const Hash hash = sha256(packed);
  return BuildObject{.kind = kind, .arch = arch, .key = key, .hash = hash, .bytes = std::move(packed)};
}

Expected<void> unpack_object(const BuildObject& object, const std::string& dir) {
  if (object.bytes.size() > kObjectBytesMax || sha256(object.bytes) != object.hash)
    return bad_input("its SHA-256 differs from the one that it names");
  if (object.bytes.empty() || (object.bytes.front() != kAsBlock && object.bytes.front() != kAsIs))
    return bad_input("its packing is unknown");
  Decompressor decompressor;
  const auto packing = object.bytes.front() == kAsBlock ? Packing::lz4 : Packing::raw;
  KQ_TRY_VALUE(const auto content,
               decompressor.view(packing, std::string_view(object.bytes).substr(1), kObjectContentBytesMax));
  const std::size_t end = content.find(kEnd);
  if (end == std::string_view::npos || end > kEntryListBytesMax) return bad_input("it has no list of its files");
  const auto files = parse_entry_list(std::string(content.substr(0, end + 1)));
  if (!files || files->size() > kBuildFilesMax) return bad_input("its list of files is invalid");
  std::string_view rest = content.substr(end + kEnd.size());
  for (const ListedFile& file : *files) {
    if (file.bytes > rest.size()) return bad_input(file.name + " is cut short");
    const std::string_view bytes = rest.substr(0, file.bytes);
    rest.remove_prefix(file.bytes);
    if (to_hex(sha256(bytes)) != file.hex) return bad_input(file.name + " differs from its line in the list");
    std::ofstream out(dir + "/" + file.name, std::ios::binary);
    out << bytes;
    if (!out.flush()) return our_fault("cannot write " + dir + "/" + file.name);
  }
  if (!rest.empty()) return bad_input("it is longer than its files");
  return {};
}

}  // namespace kq::worker
