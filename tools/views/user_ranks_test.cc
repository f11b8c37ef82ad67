#include "tools/views/user_ranks.h"

#include <gtest/gtest.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

RunRow by(const std::string& author, const std::string& label, double ns) {
  RunRow row = passed_row(label, ns, 2 * ns);
  row.entry.submission.author = author;
  return row;
}

TEST(user_ranks, the_best_of_each_user_counts_and_ties_share_a_rank) {
  UserRanks user_ranks;
  user_ranks.add(by("ada", "add/1", 3'000));
  user_ranks.add(by("ada", "add/2", 2'000));
  user_ranks.add(by("bob", "add/3", 2'000));
  user_ranks.add(by("cem", "add/4", 1'000));
  user_ranks.add(by("dan", "add/5", 9'000));
  EXPECT_EQ(user_ranks.table_text(),
            "problem  device    rank  user  submission     time\n"
            "add      Test CPU     1  cem   add/4       1.00 us\n"
            "add      Test CPU     2  ada   add/2       2.00 us\n"
            "add      Test CPU     2  bob   add/3       2.00 us\n"
            "add      Test CPU     4  dan   add/5       9.00 us\n");
}

TEST(user_ranks, a_run_that_did_not_pass_or_selects_workloads_has_no_rank) {
  UserRanks user_ranks;
  user_ranks.add(ended_row("add/secret", VerdictName::wrong_answer, evidence("secret", "")));
  RunRow part = by("ada", "add/part", 1'000);
  part.entry.submission.problem.workloads = {{"test.*"}};
  user_ranks.add(part);
  user_ranks.add(queued_row("add/later"));
  EXPECT_TRUE(user_ranks.is_empty());
}

TEST(user_ranks, csv_has_scores_in_seconds) {
  UserRanks user_ranks;
  user_ranks.add(by("", "add/1", 1'500));
  EXPECT_EQ(user_ranks.csv(),
            "problem,rank,user,submission,score_s,gpu,time\n"
            "add,1,add/1,add/1,1.5e-06,Test CPU,2023-11-14T22:13:22.000000Z\n");
}

}  // namespace
}  // namespace kq::tools
