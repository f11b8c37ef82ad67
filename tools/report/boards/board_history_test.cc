#include "tools/report/boards/board_history.h"

#include <gmock/gmock.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

using testing::ElementsAre;

RunRow entry(const std::string& label, double median_ns, Sequence seq, double std_ns = 0) {
  RunRow row = passed_row(label, median_ns, 10'000, seq);
  row.job.finished_at_ms = 1'700'000'000'000 + static_cast<std::int64_t>(seq) * 60'000;
  std::get<Passed>(row.result->verdict).measurement.submission.std_ns = std_ns;
  row.result->samples.submission_ns.assign(20, static_cast<std::int64_t>(median_ns));
  return row;
}

std::vector<std::string> ranks_of(const Board& board) {
  std::vector<std::string> found;
  for (const Standing& one : board.entries) found.push_back(std::to_string(one.row.rank) + " " + one.row.label);
  return found;
}

TEST(BoardHistory, records_are_entries_that_were_the_fastest_when_they_finished) {
  BoardCollector collector;
  for (const RunRow& row :
       {entry("relu/c", 3'000, 3), entry("relu/a", 2'000, 1), entry("relu/b", 4'000, 2), entry("relu/d", 1'000, 4)})
    collector.add(row);
  const auto boards = collector.finish();
  ASSERT_EQ(boards.size(), 1u);
  std::vector<std::string> records;
  for (const Standing& one : boards[0].history) records.push_back(one.row.label);
  EXPECT_THAT(records, ElementsAre("relu/a", "relu/d"));
  EXPECT_THAT(ranks_of(boards[0]), ElementsAre("1 relu/d", "2 relu/a", "3 relu/c", "4 relu/b"));
}

TEST(BoardHistory, entries_within_the_noise_share_a_rank) {
  BoardCollector collector;
  for (const RunRow& row :
       {entry("relu/a", 1'000, 1, 200), entry("relu/b", 1'010, 2, 200), entry("relu/c", 5'000, 3, 200)})
    collector.add(row);
  EXPECT_THAT(ranks_of(collector.finish()[0]), ElementsAre("1 relu/a", "1 relu/b", "3 relu/c"));
}

TEST(BoardHistory, a_record_won_by_luck_and_lost_by_reruns_was_none) {
  BoardCollector collector;
  RunRow lucky = entry("relu/b", 1'000, 2), again = entry("relu/b", 5'000, 3);
  for (const RunRow& row : {entry("relu/a", 2'000, 1), lucky, again}) collector.add(row);
  const auto boards = collector.finish();
  ASSERT_EQ(boards[0].history.size(), 1u);
  EXPECT_EQ(boards[0].history[0].row.label, "relu/a");
  EXPECT_EQ(boards[0].entry_count, 2u);
}

TEST(BoardHistory, the_last_record_is_the_first_entry_where_ties_make_a_chain) {
  BoardCollector collector;
  for (const RunRow& row :
       {entry("relu/a", 1'020, 1, 20), entry("relu/b", 1'010, 2, 20), entry("relu/c", 1'000, 3, 20)})
    collector.add(row);
  const auto boards = collector.finish();
  EXPECT_EQ(boards[0].history.back().row.seq, boards[0].entries.front().row.seq);
}

TEST(BoardHistory, a_job_of_two_runs_counts_once) {
  BoardCollector collector;
  RunRow row = entry("relu/a", 1'000, 1);
  collector.add(row);
  row.run = "r2";
  collector.add(row);
  EXPECT_EQ(collector.finish()[0].entry_count, 1u);
}

TEST(BoardHistory, baselines_have_boards_of_their_own) {
  BoardCollector collector;
  RunRow row = entry("relu/a", 1'000, 1);
  collector.add(row);
  row.job.seq = 2;
  row.entry.submission.trials.baseline = Baseline::compile;
  collector.add(row);
  const auto boards = collector.finish();
  ASSERT_EQ(boards.size(), 2u);
  EXPECT_NE(boards[0].slug(), boards[1].slug());
}

TEST(BoardHistory, names_of_files_are_plain) {
  const Board board{.problem = "../../etc/<x>", .device_model = "NVIDIA H200"};
  EXPECT_TRUE(board.slug().starts_with("etc-x.NVIDIA-H200.")) << board.slug();
}

}  // namespace
}  // namespace kq::tools
