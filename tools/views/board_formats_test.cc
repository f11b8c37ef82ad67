#include "tools/views/board_formats.h"

#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/testing.h"
#include "tools/views/testing.h"

namespace kq::tools {
namespace {

using ::testing::HasSubstr;

TEST(board_formats, ties_and_busy_machines_are_marked) {
  RunRow copy = passed_row("relu/copy", 9'950, 20'000, 2);
  std::get<Passed>(copy.result->verdict).measurement.is_noisy = true;
  RunRow first = passed_row("relu/first", 10'000, 20'000, 1);
  std::get<Passed>(first.result->verdict).measurement.is_noisy = true;
  const std::string text = leaderboard_table(built({copy, first}));
  EXPECT_THAT(text, HasSubstr("~10.0 us ±1%"));
  EXPECT_THAT(text, HasSubstr("  relu/first"));
  EXPECT_THAT(text, HasSubstr("ties: other kernels share the first place"));
  EXPECT_THAT(text, HasSubstr("~: the machine was busy"));
}

TEST(board_formats, table_csv_and_json_say_the_same) {
  const Leaderboard board = example();
  EXPECT_EQ(leaderboard_table(board),
            "problem  device         median    reference    speedup  label      backend  author  submitter\n"
            "relu     Test CPU  10.0 us ±1%  20.0 us ±1%  2.00x ±1%  relu/fast  torch            ada\n"
            "Test CPU: 1 of 2 problems solved, geometric mean speedup 2.00x, fast_p 0:0.50 0.5:0.50 0.8:0.50 1:0.50 "
            "1.5:0.50 2:0.00\n");
  EXPECT_EQ(leaderboard_csv(board),
            "problem,problem_hash,device_model,job_id,label,author,backend,median_us,reference_us,speedup,finished_at,"
            "fell_back,submitter,decoy,streams,graphs,findings,baseline,kernel_hash,noise_us,reference_noise_us,"
            "run_count,sample_count,tie_count,noisy,rank,speedup_noise,runs,value\nrelu," +
                to_hex(sha256("relu")) +
                ",Test CPU,2,relu/fast,,torch,10,20,2,2023-11-14T22:13:22.000000Z,false,ada,false,reject,reject,false,"
                "eager," +
                to_hex(sha256("relu/fast")) + ",0.1,0.2,1,20,0,false,1,0.0282842712474619,r1,\n");
  const std::string json = producer::to_text(leaderboard_json(board));
  EXPECT_THAT(json, HasSubstr(R"("median_us": 10.0)"));
  EXPECT_THAT(json, HasSubstr(R"("problems_n": 2)"));
  EXPECT_THAT(json, HasSubstr(R"("1.5": 0.5, "2": 0.0)"));
}

TEST(board_formats, a_kernel_of_several_jobs_says_that_its_times_are_medians) {
  RunRow again = passed_row("relu/again", 12'000, 20'000, 2);
  again.entry.submission.files = passed_row("relu/first", 10'000, 20'000, 1).entry.submission.files;
  const std::string text = leaderboard_table(built({passed_row("relu/first", 10'000, 20'000, 1), again}));
  EXPECT_THAT(text, HasSubstr("  jobs  label"));
  EXPECT_THAT(text, HasSubstr("jobs: times are medians over the jobs of a kernel"));
}

TEST(board_formats, problems_of_one_name_are_told_apart) {
  RunRow small = passed_row("relu/small", 10'000, 20'000, 1), large = passed_row("relu/large", 90'000, 99'000, 2);
  large.entry.submission.problem.hash = sha256("a larger relu");
  const std::string text = leaderboard_table(built({small, large}));
  EXPECT_THAT(text, HasSubstr("relu (" + to_hex(sha256("relu")).substr(0, 8) + ")"));
  EXPECT_THAT(text, HasSubstr("relu (" + to_hex(sha256("a larger relu")).substr(0, 8) + ")"));
  EXPECT_THAT(text, HasSubstr("(hash): problems of one name"));
}

TEST(board_formats, a_board_without_passed_jobs_says_so) {
  EXPECT_EQ(leaderboard_table(built({})), "no job has passed with a time yet\n");
  RunRow part = passed_row("relu/part", 10'000, 20'000, 2);
  part.entry.submission.problem.workloads = {{"small"}};
  const std::string sentence = "1 passed job ran a part of the problem's workloads, and no board counts such jobs\n";
  EXPECT_EQ(leaderboard_table(built({part})), sentence);
  const std::string text = leaderboard_table(built({part, passed_row("relu/all", 10'000, 20'000, 1)}));
  EXPECT_THAT(text, AllOf(HasSubstr("relu/all"), HasSubstr(sentence), Not(HasSubstr("relu/part"))));
}

TEST(board_formats, a_ranking_has_shared_ranks_jobs_samples_baseline_and_runs) {
  LeaderboardBuilder builder("", {.by = "author", .top = 3});
  for (const auto& [label, seq, median_ns] :
       {std::tuple("relu/a", Sequence{1}, 10'000.0), std::tuple("relu/b", Sequence{2}, 10'050.0),
        std::tuple("relu/c", Sequence{3}, 20'000.0)}) {
    RunRow row = passed_row(label, median_ns, 20'000, seq);
    row.entry.submission.author = "ada";
    std::get<Passed>(row.result->verdict).measurement.is_noisy = seq == 3;
    builder.add(row);
  }
  EXPECT_EQ(
      leaderboard_table(builder.finish()),
      "author  problem  device    rank        median    reference    speedup  baseline  jobs  samples  label   run  "
      "backend  author  submitter\n"
      "ada     relu     Test CPU   ≈ 1   10.0 us ±1%  20.0 us ±1%  2.00x ±1%  eager        1       20  relu/a  r1   "
      "torch    ada\n"
      "ada     relu     Test CPU   ≈ 1   10.1 us ±1%  20.0 us ±1%  1.99x ±1%  eager        1       20  relu/b  r1   "
      "torch    ada\n"
      "ada     relu     Test CPU     3  ~20.0 us ±1%  20.0 us ±1%  1.00x ±1%  eager        1       20  relu/c  r1   "
      "torch    ada\n"
      "≈: kernels share the rank, because the noise is larger than their difference\n"
      "~: the machine was busy while this was measured; measure again on a quiet one\n"
      "ada on Test CPU: 1 of 1 problem solved, geometric mean speedup 2.00x, fast_p 0:1.00 0.5:1.00 0.8:1.00 1:1.00 "
      "1.5:1.00 2:0.00\n");
}

}  // namespace
}  // namespace kq::tools
