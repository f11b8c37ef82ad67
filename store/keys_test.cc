#include "store/keys.h"

#include <gtest/gtest.h>

#include <vector>

namespace kq {
namespace {

TEST(Keys, sequences_are_big_endian_and_come_back) {
  EXPECT_EQ(sequence_key(0x0102030405060708), "\x01\x02\x03\x04\x05\x06\x07\x08");
  for (const Sequence seq : {Sequence{0}, Sequence{1}, Sequence{255}, Sequence{256}, Sequence{1} << 63, UINT64_MAX}) {
    EXPECT_EQ(sequence_key(seq).size(), 8u);
    EXPECT_EQ(sequence_from(sequence_key(seq)), seq);
  }
}

TEST(Keys, byte_order_of_sequences_is_their_order) {
  const std::vector<Sequence> seqs = {0, 1, 127, 128, 255, 256, 65'535, 65'536, 1ull << 32, 1ull << 63, UINT64_MAX};
  for (std::size_t i = 1; i < seqs.size(); ++i) EXPECT_LT(sequence_key(seqs[i - 1]), sequence_key(seqs[i]));
}

TEST(Keys, anything_but_eight_bytes_is_no_sequence) {
  EXPECT_EQ(sequence_from(""), std::nullopt);
  EXPECT_EQ(sequence_from("1234567"), std::nullopt);
  EXPECT_EQ(sequence_from("123456789"), std::nullopt);
}

TEST(Keys, a_hash_is_its_32_bytes) {
  const Hash hash = sha256("abc");
  EXPECT_EQ(hash_from_bytes(hash_key(hash)), hash);
  EXPECT_EQ(board_key(hash, "NVIDIA H200"), hash_key(hash) + "NVIDIA H200");
}

TEST(Keys, the_bounds_of_a_run_hold_all_of_its_labels) {
  for (const std::string_view label : {"\x20", "a", "~", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_LE(run_prefix("run"), run_key("run", label));
    EXPECT_LT(run_key("run", label), run_prefix_end("run"));
  }
}

TEST(Keys, the_bounds_of_a_run_hold_nothing_of_another) {
  for (const std::string_view other : {"ru", "run ", "run2", "run\xC3\xA4", "rum", "ruo", "Run"}) {
    const std::string key = run_key(other, "label");
    EXPECT_FALSE(run_prefix("run") <= key && key < run_prefix_end("run")) << other;
  }
}

}  // namespace
}  // namespace kq
