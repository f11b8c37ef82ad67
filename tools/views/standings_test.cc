#include "tools/views/standings.h"

#include <algorithm>
#include <ostream>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/report/boards/board_feed.h"
#include "tools/testing.h"
#include "tools/views/board_formats.h"
#include "tools/views/boards.h"
#include "tools/views/user_ranks.h"

namespace kq::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Returns a passed job of a kernel for the problem relu. Jobs finish in the order of their numbers.
RunRow job_of(const std::string& kernel, Sequence seq, double median_ns, double noise_ns = 0) {
  RunRow row = passed_row("relu/" + kernel, median_ns, 20'000, seq);
  row.job.finished_at_ms += static_cast<std::int64_t>(seq) * 1000;
  row.entry.submission.author = "ada";
  std::get<Passed>(row.result->verdict).measurement.noise_ns = noise_ns;
  return row;
}

std::vector<Standing> standings_of(const std::vector<RunRow>& rows) {
  StandingsBuilder builder;
  for (const RunRow& row : rows) builder.add(row);
  return builder.finish();
}

TEST(standings, the_figure_of_a_kernel_is_over_its_jobs_of_all_values_and_its_names_are_of_the_value) {
  StandingsBuilder builder;
  builder.add(job_of("k", 1, 9'000), "bob");
  RunRow again = job_of("k", 2, 11'000);
  again.run = "r2";
  again.entry.submission.label = "relu/again";
  builder.add(again, "ada");
  const auto standings = builder.finish();
  ASSERT_EQ(standings.size(), 2u);
  EXPECT_EQ(standings[0].value, "ada");
  EXPECT_EQ(standings[0].row.label, "relu/again");
  EXPECT_THAT(standings[0].run_names, ElementsAre("r2", "r1"));
  EXPECT_EQ(standings[1].row.label, "relu/k");
  for (const Standing& one : standings) {
    EXPECT_EQ(one.row.median_ns, 10'000);
    EXPECT_EQ(one.row.runs.size(), 2u);
    EXPECT_EQ(one.row.rank, 1u);
  }
}

TEST(standings, a_job_of_two_runs_counts_once_and_names_both) {
  RunRow row = job_of("k", 1, 9'000);
  RunRow other = row;
  other.run = "r2";
  const auto standings = standings_of({row, other});
  ASSERT_EQ(standings.size(), 1u);
  EXPECT_EQ(standings[0].row.runs.size(), 1u);
  EXPECT_THAT(standings[0].run_names, ElementsAre("r1", "r2"));
}

TEST(standings, a_job_under_two_names_of_its_problem_is_on_a_board_of_each) {
  RunRow other = job_of("k", 1, 9'000);
  other.run = "r2";
  other.entry.submission.problem.name = "level1/19_ReLU";
  LeaderboardBuilder builder("", {.top = 2});
  builder.add(job_of("k", 1, 9'000));
  builder.add(other);
  const Leaderboard board = builder.finish();
  EXPECT_EQ(board.rows.size(), 2u);
  ASSERT_EQ(board.summaries().size(), 1u);
  EXPECT_EQ(board.summaries()[0].solved_count, 2u);
  EXPECT_EQ(board.summaries()[0].problem_count, 2u);
}

TEST(standings, a_run_that_reuses_a_job_does_not_take_its_names) {
  const RunRow first = job_of("k", 1, 9'000);
  RunRow reused = first;
  reused.run = "a" + first.run;
  reused.entry.submission.author = "eve";
  reused.entry.submitter = "eve";
  RunRow submitted = first;
  submitted.job.run = first.run;
  reused.job.run = first.run;
  const auto standings = standings_of({reused, submitted});
  ASSERT_EQ(standings.size(), 1u);
  EXPECT_EQ(standings[0].row.author, "ada");
  EXPECT_NE(standings[0].row.submitter, "eve");
}

TEST(standings, the_submitter_of_a_sweep_is_named_without_its_own_share) {
  RunRow row = job_of("k", 1, 9'000);
  row.entry.submitter = "ann@lab/" + row.run;
  EXPECT_EQ(standings_of({row})[0].row.submitter, "ann@lab");
}

TEST(standings, the_first_kernels_of_each_board_are_kept) {
  RunRow other = passed_row("gelu/d", 9'000, 20'000, 4);
  const auto all = standings_of({job_of("a", 1, 9'000), job_of("b", 2, 8'000), job_of("c", 3, 7'000), other});
  std::vector<std::string> labels;
  for (const Standing& one : first_of_each_board(all, 2)) labels.push_back(one.row.label);
  EXPECT_THAT(labels, ElementsAre("gelu/d", "relu/c", "relu/b"));
}

// What a view says of one kernel: board, label, rank, ties, median and noise.
struct Said {
  std::string baseline, label;
  std::int64_t rank = 0, tie_count = 0, run_count = 0, sample_count = 0;
  double median_us = 0, noise_us = 0, speedup = 0, speedup_noise = 0;

  friend bool operator==(const Said&, const Said&) = default;
};
std::ostream& operator<<(std::ostream& out, const Said& one) {
  return out << one.baseline << ' ' << one.label << ": rank " << one.rank << " of " << one.tie_count << " ties, "
             << one.median_us << " +- " << one.noise_us << ", " << one.run_count << " jobs, " << one.sample_count;
}

double number_of(const producer::Json& json) {
  return json.floating() != nullptr ? *json.floating() : static_cast<double>(*json.integer());
}

Said said_of(const producer::Json& row, const std::string& baseline) {
  return {.baseline = baseline,
          .label = *row.find("label")->text(),
          .rank = *row.find("rank")->integer(),
          .tie_count = *row.find("tie_count")->integer(),
          .run_count = *row.find("run_count")->integer(),
          .sample_count = *row.find("sample_count")->integer(),
          .median_us = number_of(*row.find("median_us")),
          .noise_us = number_of(*row.find("noise_us")),
          .speedup = number_of(*row.find("speedup")),
          .speedup_noise = number_of(*row.find("speedup_noise"))};
}

std::vector<Said> by_leaderboard(const std::vector<RunRow>& rows, const BoardOptions& options) {
  LeaderboardBuilder builder("r1", options);
  for (const RunRow& row : rows) builder.add(row);
  std::vector<Said> said;
  const producer::Json json = leaderboard_json(builder.finish());
  for (const producer::Json& row : *json.find("rows")->array())
    said.push_back(said_of(row, *row.find("baseline")->text()));
  return said;
}

std::vector<Said> by_pages(const std::vector<RunRow>& rows) {
  BoardCollector collector;
  for (const RunRow& row : rows) collector.add(row);
  const producer::Json json = producer::parse_json(boards_json(collector.finish(), "now")).value();
  std::vector<Said> said;
  for (const producer::Json& board : *json.find("boards")->array()) {
    for (const producer::Json& entry : *board.find("entries")->array())
      said.push_back(said_of(entry, *board.find("baseline")->text()));
    const auto* entries = board.find("entries")->array();
    const auto* history = board.find("history")->array();
    EXPECT_EQ(*history->back().find("label")->text(), *entries->front().find("label")->text());
    EXPECT_EQ(number_of(*history->back().find("median_us")), number_of(*entries->front().find("median_us")));
  }
  return said;
}

std::vector<Said> sorted(std::vector<Said> said) {
  std::ranges::stable_sort(said, {}, [](const Said& one) { return one.baseline; });
  return said;
}

std::vector<Said> firsts(const std::vector<Said>& all) {
  std::vector<Said> said;
  for (const Said& one : all) {
    if (said.empty() || said.back().baseline != one.baseline) said.push_back(one);
  }
  return said;
}

// Expects that every view says the same of these rows, and returns what they say. store/boards_test.cc has the same of
// the first places that the broker keeps.
std::vector<Said> said_by_every_view(const std::vector<RunRow>& rows) {
  const std::vector<Said> all = sorted(by_leaderboard(rows, {.top = 100}));
  EXPECT_EQ(sorted(by_pages(rows)), all);
  EXPECT_EQ(sorted(by_leaderboard(rows, {.by = "author", .top = 100})), all) << "all rows are of one author";
  EXPECT_EQ(sorted(by_leaderboard(rows, {})), firsts(all));
  EXPECT_EQ(sorted(by_leaderboard(rows, {.by = "author"})), firsts(all));
  UserRanks users;
  for (const RunRow& row : rows) users.add(row);
  users.finish();
  for (const Said& first : firsts(all)) {
    EXPECT_THAT(users.csv(), HasSubstr("relu,1,ada," + first.label + ","));
  }
  return all;
}

TEST(every_view, a_lucky_single_run_does_not_beat_a_kernel_of_five_runs) {
  std::vector<RunRow> rows;
  for (Sequence seq = 1; seq <= 5; ++seq) rows.push_back(job_of("steady", seq, 10'000, 300));
  rows.push_back(job_of("lucky", 6, 9'500, 2'000));
  // One very fast run among slow ones of another kernel.
  for (const double median_ns : {12'000.0, 5'000.0, 12'100.0, 11'900.0, 12'000.0})
    rows.push_back(job_of("rerun", rows.size() + 1, median_ns, 300));
  const auto said = said_by_every_view(rows);
  ASSERT_EQ(said.size(), 3u);
  EXPECT_EQ(said[0].label, "relu/steady");
  EXPECT_EQ(said[0].rank, 1);
  EXPECT_EQ(said[0].tie_count, 1);
  EXPECT_EQ(said[0].run_count, 5);
  EXPECT_EQ(said[0].sample_count, 100);
  EXPECT_EQ(said[1].label, "relu/lucky");
  EXPECT_EQ(said[1].rank, 1);
  EXPECT_EQ(said[2].label, "relu/rerun");
  EXPECT_EQ(said[2].rank, 3);
  EXPECT_EQ(said[2].median_us, 12);
}

TEST(every_view, a_rerun_that_takes_over_the_row_does_not_hide_the_former_jobs) {
  RunRow lucky = job_of("lucky", 9, 9'000, 100);
  for (Sequence seq = 6; seq <= 8; ++seq)
    lucky.reruns.push_back(
        {.seq = seq, .median_ns = 12'000, .reference_ns = 20'000, .noise_ns = 100, .reference_noise_ns = 100});
  const auto said = said_by_every_view({job_of("steady", 1, 10'000, 100), lucky});
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(said[0].label, "relu/steady");
  EXPECT_EQ(said[1].label, "relu/lucky");
  EXPECT_EQ(said[1].median_us, 12);
  EXPECT_EQ(said[1].run_count, 4);
}

TEST(every_view, kernels_inside_the_noise_share_the_rank_and_the_earlier_one_is_first) {
  const auto said = said_by_every_view(
      {job_of("first", 1, 10'050, 100), job_of("second", 2, 10'000, 100), job_of("third", 3, 12'000, 100)});
  ASSERT_EQ(said.size(), 3u);
  EXPECT_EQ(std::tuple(said[0].label, said[0].rank, said[0].tie_count), std::tuple("relu/first", 1, 1));
  EXPECT_EQ(std::tuple(said[1].label, said[1].rank, said[1].tie_count), std::tuple("relu/second", 1, 1));
  EXPECT_EQ(std::tuple(said[2].label, said[2].rank, said[2].tie_count), std::tuple("relu/third", 3, 0));
}

TEST(every_view, a_kernel_of_too_few_samples_has_no_rank) {
  RunRow few = job_of("few", 2, 1'000);
  std::get<Passed>(few.result->verdict).measurement.submission.sample_count = kRankSamplesMin - 1;
  const auto said = said_by_every_view({job_of("enough", 1, 10'000), few});
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].label, "relu/enough");
}

TEST(every_view, baselines_are_never_mixed) {
  RunRow compiled = job_of("compiled", 2, 5'000);
  compiled.entry.submission.trials.baseline = Baseline::compile;
  const auto said = said_by_every_view({job_of("eager", 1, 10'000), compiled});
  ASSERT_EQ(said.size(), 2u);
  EXPECT_EQ(std::tuple(said[0].baseline, said[0].rank), std::tuple("compile", 1));
  EXPECT_EQ(std::tuple(said[1].baseline, said[1].rank), std::tuple("eager", 1));
}

TEST(every_view, a_chain_of_ties_has_one_first_place) {
  // Each kernel ties with its neighbours, and the third one beats the first one, and so takes its place.
  const auto said =
      said_by_every_view({job_of("a", 1, 10'400, 200), job_of("b", 2, 10'200, 200), job_of("c", 3, 10'000, 200)});
  ASSERT_EQ(said.size(), 3u);
  EXPECT_EQ(std::tuple(said[0].label, said[0].rank), std::tuple("relu/c", 1));
  EXPECT_EQ(std::tuple(said[1].label, said[1].rank), std::tuple("relu/b", 1));
  EXPECT_EQ(std::tuple(said[2].label, said[2].rank), std::tuple("relu/a", 3));
}

}  // namespace
}  // namespace kq::tools
