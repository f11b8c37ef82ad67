#include "producer/formats/flashinfer/safetensors.h"

#include <zlib.h>

#include <bit>
#include <cstring>
#include <fstream>
#include <set>
#include <string>

#include "producer/formats/file_ref.h"
#include "sys/error_text.h"

namespace kq::producer::flashinfer {
namespace {

namespace fs = std::filesystem;

std::string text_of(const Json& json, std::string_view key) {
  const Json* const found = json.find(key);
  return found != nullptr && found->text() != nullptr ? *found->text() : std::string();
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t bits = 0;
    for (std::size_t i = at; i < at + 3; ++i)
      bits = (bits << 8) | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u);
    for (std::size_t i = 0; i < 4; ++i) text += at + i <= bytes.size() ? kDigits[(bits >> (18 - 6 * i)) & 63] : '=';
  }
  return text;
}

std::string packed(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(),
            Z_BEST_COMPRESSION);
  out.resize(size);
  return out;
}

// Returns the file of a path below the root. Some sets write paths with the folders above the root.
Expected<fs::path> find_file(const fs::path& root, const std::string& path) {
  fs::path tail = fs::path(path).lexically_normal();
  while (!tail.empty() && !tail.is_absolute() && *tail.begin() != "..") {
    if (is_file(root / tail)) return root / tail;
    fs::path shorter;
    for (auto part = std::next(tail.begin()); part != tail.end(); ++part) shorter /= *part;
    tail = std::move(shorter);
  }
  return bad_input("there is no file " + path + " below " + root.string());
}

struct Header {
  Json tensors;
  std::uint64_t data_at = 0;
};

Expected<Header> read_header(std::ifstream& file, const std::string& path) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t size = 0;
  file.read(reinterpret_cast<char*>(&size), sizeof size);
  if (!file || size > kTensorHeaderBytesMax) return bad_input(path + " is no file of safetensors");
  std::string text(size, '\0');
  file.read(text.data(), static_cast<std::streamsize>(size));
  auto parsed = file ? parse_json(text) : bad_input("it ends too early");
  if (!parsed || parsed->object() == nullptr) return bad_input(path + " is no file of safetensors");
  return Header{std::move(*parsed), sizeof size + size};
}

Expected<Json> read_tensor(const fs::path& path, const std::string& key) {
  std::ifstream file(path, std::ios::binary);
  if (!file.is_open()) return bad_input(sys::error_text(path.string()));
  KQ_TRY_VALUE(const Header header, read_header(file, path.string()));
  const Json* const tensor = header.tensors.find(key);
  const Json* const place = tensor == nullptr ? nullptr : tensor->find("data_offsets");
  if (place == nullptr || place->array() == nullptr || place->array()->size() != 2 ||
      tensor->find("shape") == nullptr || text_of(*tensor, "dtype").empty())
    return bad_input(path.string() + " has no tensor " + key);
  const std::int64_t* const begin = place->array()->front().integer();
  const std::int64_t* const end = place->array()->back().integer();
  if (begin == nullptr || end == nullptr || *begin < 0 || *end < *begin)
    return bad_input(path.string() + ": tensor " + key + " has no valid place");
  const auto size = static_cast<std::size_t>(*end - *begin);
  if (size > kTensorBytesMax)
    return bad_input(path.string() + ": tensor " + key + " has " + std::to_string(size) + " bytes, at most " +
                     std::to_string(kTensorBytesMax) + " are possible");
  std::string bytes(size, '\0');
  file.seekg(static_cast<std::streamoff>(header.data_at) + *begin);
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  if (!file) return bad_input(path.string() + " ends inside tensor " + key);
  JsonObject made;
  made.emplace_back("dtype", *tensor->find("dtype"));
  made.emplace_back("shape", *tensor->find("shape"));
  made.emplace_back("data", Json{base64(packed(bytes))});
  return Json{std::move(made)};
}

}  // namespace

Expected<Json> tensors_of(const JsonArray& workloads, const fs::path& root) {
  JsonObject tensors;
  std::set<std::string> known;
  std::size_t bytes = 0;
  for (const Json& workload : workloads) {
    for (const JsonMember& input : *workload.find("inputs")->object()) {
      if (text_of(input.value, "type") != "safetensors") continue;
      const std::string path = text_of(input.value, "path"), key = text_of(input.value, "tensor_key");
      if (!known.insert(path + ":" + key).second) continue;
      KQ_TRY_VALUE(const fs::path file, find_file(root, path));
      KQ_TRY_VALUE(Json tensor, read_tensor(file, key));
      bytes += tensor.find("data")->text()->size();
      if (bytes > kTensorsBytesMax)
        return bad_input("the tensors in files have more than " + std::to_string(kTensorsBytesMax) +
                         " bytes, packed; fewer workloads in one file, or smaller tensors, can run");
      tensors.emplace_back(path + ":" + key, std::move(tensor));
    }
  }
  return Json{std::move(tensors)};
}

}  // namespace kq::producer::flashinfer
