#include "store/keys.h"

#include <gtest/gtest.h>

#include <vector>

namespace kq::store {
namespace {

TEST(Keys, sequences_are_big_endian_and_come_back) {
  EXPECT_EQ(sequence_key(0x0102030405060708), "\x01\x02\x03\x04\x05\x06\x07\x08");
  for (const Sequence seq : {Sequence{0}, Sequence{1}, Sequence{255}, Sequence{256}, Sequence{1} << 63, UINT64_MAX}) {
    EXPECT_EQ(sequence_key(seq).size(), 8u);
    EXPECT_EQ(sequence_from(sequence_key(seq)), seq);
  }
}

TEST(Keys, byte_order_of_sequence_keys_is_numeric_order) {
  const std::vector<Sequence> seqs = {0, 1, 127, 128, 255, 256, 65'535, 65'536, 1ull << 32, 1ull << 63, UINT64_MAX};
  for (std::size_t i = 1; i < seqs.size(); ++i) EXPECT_LT(sequence_key(seqs[i - 1]), sequence_key(seqs[i]));
}

TEST(Keys, only_eight_bytes_are_a_sequence) {
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

TEST(Keys, a_place_in_the_queue_comes_back_and_lies_within_its_lane) {
  const LaneId lane{.needs = 7, .priority = Priority::high, .submitter = 1u << 31};
  for (const Sequence seq : {Sequence{0}, Sequence{256}, UINT64_MAX}) {
    const auto place = queue_place_from(queue_key(lane, seq));
    ASSERT_TRUE(place);
    EXPECT_EQ(place->lane, lane);
    EXPECT_EQ(place->seq, seq);
    EXPECT_LT(queue_key(lane, seq), queue_end(lane));
  }
  const LaneId next{.needs = 7, .priority = Priority::high, .submitter = (1u << 31) + 1};
  EXPECT_LE(queue_end(lane), queue_key(next, 0));
}

TEST(Keys, an_invalid_queue_key_is_refused) {
  std::string key = queue_key({}, 1);
  key[4] = 3;  // no such priority
  EXPECT_FALSE(queue_place_from(key));
  EXPECT_FALSE(queue_place_from(queue_key({}, 1) + "x"));
  EXPECT_FALSE(queue_place_from(""));
}

TEST(Keys, an_entry_of_the_queue_comes_back) {
  const QueueEntry entry{.problem = 1ull << 63, .submitted_at_ms = 1'760'000'000'000, .bytes = 4'096, .leased = true};
  EXPECT_EQ(queue_entry_from(queue_value(entry)), entry);
  EXPECT_EQ(queue_entry_from(queue_value(entry) + "x"), std::nullopt);
  const LaneId lane{.needs = 7, .priority = Priority::low, .submitter = 3};
  EXPECT_EQ(timer_value_from(timer_value(lane, entry)), std::pair(lane, entry));
  EXPECT_EQ(timer_value_from(""), std::nullopt);
}

TEST(Keys, timers_are_in_the_order_of_time) {
  const TimerPlace now{.at_ms = 1'760'000'000'000, .kind = TimerKind::expires, .seq = UINT64_MAX};
  EXPECT_LT(timer_key(now), timer_end(now.at_ms));
  EXPECT_LE(timer_end(now.at_ms), timer_key({.at_ms = now.at_ms + 1, .kind = TimerKind::may_run, .seq = 0}));
  const auto place = timer_place_from(timer_key(now));
  ASSERT_TRUE(place);
  EXPECT_EQ(place->at_ms, now.at_ms);
  EXPECT_EQ(place->kind, now.kind);
  EXPECT_EQ(place->seq, now.seq);
  EXPECT_FALSE(timer_place_from("12345678"));
}

TEST(Keys, numbered_names_come_back) {
  EXPECT_EQ(number_from(kClassPrefix, numbered_key(kClassPrefix, 258)), 258u);
  EXPECT_EQ(number_from(kSubmitterPrefix, numbered_key(kClassPrefix, 258)), std::nullopt);
}

TEST(ReuseKey, leads_from_a_job_to_its_labels) {
  const std::string key = reuse_key(7, run_key("r", "a"));
  EXPECT_EQ(reuse_place_from(key)->seq, 7u);
  EXPECT_EQ(reuse_place_from(key)->run_key, run_key("r", "a"));
  EXPECT_FALSE(reuse_place_from(sequence_key(7)));
  EXPECT_EQ(reused_at_ms_from(reuse_value(1'700'000'000'000)), 1'700'000'000'000);
  EXPECT_FALSE(reused_at_ms_from("x"));
}

TEST(Keys, the_packings_of_a_blob_have_adjacent_keys) {
  const Hash hash = sha256("x");
  for (const Packing packing : {Packing::raw, Packing::zstd, Packing::lz4}) {
    EXPECT_EQ(blob_place_from(blob_key(hash, packing)), std::pair(hash, packing));
  }
  EXPECT_EQ(blob_place_from(hash_key(hash) + "x"), std::nullopt);
  EXPECT_EQ(blob_place_from(hash_key(hash) + "zz"), std::nullopt);
  EXPECT_EQ(blob_place_from("short"), std::nullopt);
}

}  // namespace
}  // namespace kq::store
