#include "core/bytes/hash.h"

#include <openssl/evp.h>

#include <cstring>
#include <memory>

#include "core/base/check.h"

namespace kq {
namespace {

int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Fetches the algorithm once. With EVP_sha256(), OpenSSL looks the algorithm up by name for every digest, which takes
// longer than hashing a short text.
const EVP_MD* algorithm() {
  static const EVP_MD* const found = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return found;
}

struct FreeContext {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};

}  // namespace

Hash sha256(std::string_view data) {
  // The context is reused, because its allocation takes as long as hashing some hundred bytes.
  thread_local const std::unique_ptr<EVP_MD_CTX, FreeContext> context(EVP_MD_CTX_new());
  Hash hash;
  unsigned int size = 0;
  KQ_CHECK(EVP_DigestInit_ex(context.get(), algorithm(), nullptr) == 1);
  KQ_CHECK(EVP_DigestUpdate(context.get(), data.data(), data.size()) == 1);
  KQ_CHECK(EVP_DigestFinal_ex(context.get(), hash.bytes.data(), &size) == 1);
  KQ_CHECK(size == hash.bytes.size());
  return hash;
}

std::string to_hex(const Hash& hash) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(64);
  for (std::uint8_t byte : hash.bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

std::optional<Hash> hash_from_hex(std::string_view hex) {
  Hash hash;
  if (hex.size() != 2 * hash.bytes.size()) return std::nullopt;
  for (std::size_t i = 0; i < hash.bytes.size(); ++i) {
    const int high = digit(hex[2 * i]);
    const int low = digit(hex[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    hash.bytes[i] = static_cast<std::uint8_t>(high << 4 | low);
  }
  return hash;
}

std::string_view as_bytes(const Hash& hash) {
  return {reinterpret_cast<const char*>(hash.bytes.data()), hash.bytes.size()};
}

std::optional<Hash> hash_from_bytes(std::string_view raw) {
  Hash hash;
  if (raw.size() != hash.bytes.size()) return std::nullopt;
  std::memcpy(hash.bytes.data(), raw.data(), raw.size());
  return hash;
}

}  // namespace kq
