#include "core/bytes/hash.h"

#include <gtest/gtest.h>

namespace kq {
namespace {

TEST(Hash, agrees_with_the_published_vectors) {
  EXPECT_EQ(to_hex(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(to_hex(sha256("abc")), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(to_hex(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(to_hex(sha256(std::string(1'000'000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Hash, hashes_what_follows_a_nul) {
  EXPECT_NE(sha256(std::string("a\0b", 3)), sha256(std::string("a\0c", 3)));
}

TEST(Hash, hex_comes_back_in_either_case) {
  const Hash hash = sha256("abc");
  std::string upper = to_hex(hash);
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  EXPECT_EQ(hash_from_hex(to_hex(hash)), hash);
  EXPECT_EQ(hash_from_hex(upper), hash);
}

TEST(Hash, anything_but_64_hexadecimal_digits_is_no_hash) {
  const std::string hex = to_hex(sha256("abc"));
  EXPECT_EQ(hash_from_hex(""), std::nullopt);
  EXPECT_EQ(hash_from_hex(hex.substr(1)), std::nullopt);
  EXPECT_EQ(hash_from_hex(hex + "0"), std::nullopt);
  EXPECT_EQ(hash_from_hex("g" + hex.substr(1)), std::nullopt);
  EXPECT_EQ(hash_from_hex(" " + hex.substr(1)), std::nullopt);
}

TEST(Hash, raw_bytes_come_back) {
  const Hash hash = sha256("abc");
  EXPECT_EQ(as_bytes(hash).size(), 32u);
  EXPECT_EQ(hash_from_bytes(as_bytes(hash)), hash);
  EXPECT_EQ(hash_from_bytes(as_bytes(hash).substr(1)), std::nullopt);
}

TEST(Hash, orders_as_its_bytes_do) {
  EXPECT_LT(*hash_from_hex("00" + std::string(62, 'f')), *hash_from_hex("01" + std::string(62, '0')));
}

}  // namespace
}  // namespace kq
