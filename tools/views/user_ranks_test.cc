#include "tools/views/user_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

RunRow by(const std::string& author, const std::string& label, double ns, Sequence seq = 1) {
  RunRow row = passed_row(label, ns, 2 * ns, seq);
  row.entry.submission.author = author;
  return row;
}

UserRanks ranks_of(const std::vector<RunRow>& rows) {
  UserRanks user_ranks;
  for (const RunRow& row : rows) user_ranks.add(row);
  user_ranks.finish();
  return user_ranks;
}

TEST(user_ranks, the_best_of_each_user_counts_and_ties_share_a_rank) {
  const UserRanks user_ranks =
      ranks_of({by("ada", "add/1", 3'000, 1), by("ada", "add/2", 2'000, 2), by("bob", "add/3", 1'990, 3),
                by("cem", "add/4", 1'000, 4), by("dan", "add/5", 9'000, 5)});
  EXPECT_EQ(user_ranks.table_text(),
            "problem  device    rank  user  submission         time  jobs  samples\n"
            "add      Test CPU     1  cem   add/4       1.00 us ±1%     1       20\n"
            "add      Test CPU   ≈ 2  ada   add/2       2.00 us ±1%     1       20\n"
            "add      Test CPU   ≈ 2  bob   add/3       1.99 us ±1%     1       20\n"
            "add      Test CPU     4  dan   add/5       9.00 us ±1%     1       20\n"
            "≈: kernels share the rank, because the noise is larger than their difference\n");
}

TEST(user_ranks, users_with_one_kernel_have_its_figure_and_a_rank_each) {
  RunRow copied = by("bob", "add/copy", 1'000, 2);
  RunRow first = by("ada", "add/first", 3'000, 1);
  copied.entry.submission.files = first.entry.submission.files;
  const std::string csv = ranks_of({first, copied}).csv();
  EXPECT_THAT(csv, testing::HasSubstr("add,1,ada,add/first,2e-06,"));
  EXPECT_THAT(csv, testing::HasSubstr("add,1,bob,add/copy,2e-06,"));
}

TEST(user_ranks, a_kernel_without_an_author_is_that_of_its_submitter) {
  RunRow first = by("", "add/1", 2'000, 1), second = by("", "add/2", 1'000, 2), other = by("bob", "add/3", 3'000, 3);
  first.entry.submitter = second.entry.submitter = other.entry.submitter = "alice";
  const std::string csv = ranks_of({first, second, other}).csv();
  EXPECT_THAT(csv, testing::HasSubstr("add,1,alice,add/2,1e-06,"));
  EXPECT_THAT(csv, testing::HasSubstr("add,2,bob,add/3,3e-06,"));
  EXPECT_THAT(csv, testing::Not(testing::HasSubstr("add/1")));
}

TEST(user_ranks, a_run_that_did_not_pass_or_selects_workloads_has_no_rank) {
  RunRow part = by("ada", "add/part", 1'000);
  part.entry.submission.problem.workloads = {{"test.*"}};
  EXPECT_TRUE(ranks_of({ended_row("add/secret", VerdictName::wrong_answer, evidence("secret", "")), part,
                        queued_row("add/later")})
                  .is_empty());
}

TEST(user_ranks, csv_has_scores_in_seconds) {
  EXPECT_EQ(ranks_of({by("", "add/1", 1'500)}).csv(),
            "problem,rank,user,submission,score_s,gpu,time,noise_s,run_count,sample_count,tie_count,noisy,baseline,"
            "problem_hash\n"
            "add,1,,add/1,1.5e-06,Test CPU,2023-11-14T22:13:22.000000Z,1.5e-08,1,20,0,false,eager," +
                to_hex(by("", "add/1", 1'500).entry.submission.problem.hash) + "\n");
}

TEST(user_ranks, boards_of_one_name_are_told_apart_by_a_part_of_their_hash) {
  RunRow other = by("bob", "add/2", 2'000);
  other.entry.submission.problem.hash = sha256("another add");
  const std::string text = ranks_of({by("ada", "add/1", 1'500), other}).table_text();
  EXPECT_THAT(text, testing::HasSubstr("add (" + to_hex(sha256("another add")).substr(0, 8) + ")"));
  EXPECT_THAT(text, testing::HasSubstr("(hash): problems of one name"));
}

}  // namespace
}  // namespace kq::tools
