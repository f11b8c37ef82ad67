#include "store/boards.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/codec/codec.h"
#include "store/keys.h"
#include "store/memory_store.h"

namespace kq::store {
namespace {

constexpr double kNoiseNs = 3;

LeaderboardRow run_of(const std::string& kernel, Sequence seq, double median_ns, double noise_ns = kNoiseNs) {
  LeaderboardRow row;
  row.problem = "relu";
  row.problem_hash = sha256("relu");
  row.device_model = "H200";
  row.seq = seq;
  row.label = kernel + std::to_string(seq);
  row.median_ns = median_ns;
  row.noise_ns = noise_ns;
  row.kernel_hash = sha256(kernel);
  row.sample_count = 20;
  row.runs = {
      {.seq = seq, .median_ns = median_ns, .reference_ns = 200, .noise_ns = noise_ns, .reference_noise_ns = noise_ns}};
  return row;
}

class BoardsTest : public testing::Test {
 protected:
  void add(const LeaderboardRow& run, bool commits = true) {
    EXPECT_TRUE(add_to_boards(store, pending, run, writer()));
    if (commits) commit();
  }
  // Removes the kernels with these names.
  void remove(const std::vector<std::string>& kernels) {
    std::vector<std::string> keys;
    for (const std::string& kernel : kernels) keys.push_back(kernel_key(sha256("relu"), sha256(kernel), "H200"));
    EXPECT_TRUE(remove_from_boards(store, pending, keys, writer()));
    commit();
  }
  WriteRow writer() {
    return [this](Family family, std::string key, std::optional<std::string> value) {
      writes.push_back({family, std::move(key), std::move(value)});
    };
  }
  void commit() {
    EXPECT_TRUE(store.commit(writes));
    writes.clear();
    pending.rows.clear();
  }
  // Adds slow kernels, which only make the board larger.
  std::vector<std::string> add_slow(Sequence first, Sequence count) {
    std::vector<std::string> kernels;
    for (Sequence seq = first; seq < first + count; ++seq) {
      kernels.push_back("slow" + std::to_string(seq));
      add(run_of(kernels.back(), seq, 500));
    }
    return kernels;
  }
  LeaderboardRow first_place() const {
    const auto bytes = store.get(Family::board, board_key(sha256("relu"), "H200")).value();
    return bytes ? decode<LeaderboardRow>(*bytes).value() : LeaderboardRow{};
  }

  MemoryStore store;
  PendingBoards pending;
  std::vector<Write> writes;
};

TEST_F(BoardsTest, a_kernel_must_be_faster_beyond_the_noise) {
  add(run_of("a", 1, 100));
  add(run_of("b", 2, 98));
  EXPECT_EQ(first_place().label, "a1");
  add(run_of("c", 3, 90));
  EXPECT_EQ(first_place().label, "c3");
}

TEST_F(BoardsTest, reruns_of_one_kernel_never_win_by_their_luckiest_run) {
  add(run_of("honest", 1, 100));
  Sequence seq = 2;
  for (const double median_ns : {150.0, 140.0, 60.0, 155.0, 145.0, 70.0, 150.0}) add(run_of("copy", seq++, median_ns));
  EXPECT_EQ(first_place().label, "honest1");
}

TEST_F(BoardsTest, a_first_place_won_by_luck_is_lost_by_reruns) {
  add(run_of("honest", 1, 100));
  add(run_of("lucky", 2, 60));
  EXPECT_EQ(first_place().label, "lucky2");
  add(run_of("lucky", 3, 150), false);
  add(run_of("lucky", 4, 150), false);
  add(run_of("lucky", 5, 150));
  EXPECT_EQ(first_place().label, "honest1") << "the rows of this turn are compared, too";
}

TEST_F(BoardsTest, the_first_place_is_that_of_the_ranks_whatever_came_before) {
  constexpr Sequence kKernels = 23;
  std::vector<LeaderboardRow> rows;
  for (Sequence seq = 1; seq <= 120; ++seq) {
    const std::string kernel(1, static_cast<char>('a' + seq * 7 % kKernels));
    rows.push_back(
        run_of(kernel, seq, 80 + static_cast<double>(seq * 37 % 41), 1 + static_cast<double>(seq * 13 % 11)));
    rows.back().finished_at_ms = static_cast<std::int64_t>(seq);
    add_runs(rows.back(), rows.back());  // computes the figures
    add(rows.back(), seq % 3 == 0);
    const auto first = pending.rows.find({Family::board, board_key(sha256("relu"), "H200")});
    const LeaderboardRow holder = first == pending.rows.end() ? first_place() : *first->second;
    const auto ranks = ranked(rows);
    const auto place = std::ranges::find(ranks, holder.kernel_hash, &LeaderboardRow::kernel_hash);
    ASSERT_NE(place, ranks.end());
    EXPECT_EQ(place->rank, 1u) << seq;
    EXPECT_EQ(holder, static_cast<const LeaderboardRow&>(*place)) << seq;
    // Without reruns the holder is listed first, too.
    if (seq <= kKernels) {
      EXPECT_EQ(holder.seq, ranks.front().seq) << seq;
    }
  }
}

TEST_F(BoardsTest, the_noise_is_that_of_a_board_with_as_many_kernels) {
  add(run_of("first", 1, 100));
  add_slow(2, 18);
  add(run_of("copy", 20, 94));
  EXPECT_EQ(first_place().label, "first1") << "the copy would be faster on a board of two";
  pending = {};
  add(run_of("copy", 21, 94));
  EXPECT_EQ(first_place().label, "first1") << "the kernels are counted anew after a start";
  add(run_of("faster", 22, 90));
  EXPECT_EQ(first_place().label, "faster22");
}

TEST_F(BoardsTest, slow_kernels_take_no_first_place_away) {
  add(run_of("first", 1, 100));
  add(run_of("faster", 2, 94));
  add_slow(3, 30);
  EXPECT_EQ(first_place().label, "faster2");
}

TEST_F(BoardsTest, a_removed_kernel_is_gone_and_the_place_goes_to_what_is_faster_on_the_smaller_board) {
  for (const bool is_restarted : {false, true}) {
    store = MemoryStore();
    pending = {};
    add(run_of("first", 1, 100));
    const auto slow = add_slow(2, 18);
    add(run_of("copy", 20, 94));
    if (is_restarted) pending = {};
    remove({slow.begin(), slow.begin() + 9});
    EXPECT_EQ(first_place().label, "first1") << "the noise of 11 kernels is larger than the lead";
    remove({slow.begin() + 9, slow.end()});
    EXPECT_EQ(first_place().label, "copy20");
    EXPECT_EQ(kernel_counts(store, sha256("relu")).value(), (std::map<std::string, std::size_t>{{"H200", 2}}));
  }
}

TEST_F(BoardsTest, the_kernels_begun_by_a_job_are_found) {
  add(run_of("a", 1, 100));
  add(run_of("a", 2, 100));
  EXPECT_EQ(kernels_begun_by(store, sha256("relu"), sha256("a"), 1).value(),
            std::vector<std::string>{kernel_key(sha256("relu"), sha256("a"), "H200")});
  EXPECT_TRUE(kernels_begun_by(store, sha256("relu"), sha256("a"), 2)->empty());
}

TEST_F(BoardsTest, an_unreadable_row_is_our_fault) {
  EXPECT_TRUE(store.commit(std::vector<Write>{{Family::board, board_key(sha256("relu"), "H200"), "x"}}));
  const auto added = add_to_boards(store, pending, run_of("a", 1, 100),
                                   [](Family, const std::string&, const std::optional<std::string>&) {});
  ASSERT_FALSE(added);
  EXPECT_THAT(added.error().message, testing::HasSubstr("store, family 'board'"));
}

}  // namespace
}  // namespace kq::store
