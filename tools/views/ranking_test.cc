#include "tools/views/ranking.h"

#include <gtest/gtest.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

RunRow by(const std::string& author, const std::string& label, double ns) {
  RunRow row = passed_row(label, ns, 2 * ns);
  row.entry.submission.author = author;
  return row;
}

TEST(ranking, the_best_of_each_user_counts_and_ties_share_a_rank) {
  Ranking ranking;
  ranking.add(by("ada", "add/1", 3'000));
  ranking.add(by("ada", "add/2", 2'000));
  ranking.add(by("bob", "add/3", 2'000));
  ranking.add(by("cem", "add/4", 1'000));
  ranking.add(by("dan", "add/5", 9'000));
  EXPECT_EQ(ranking.table_text(),
            "problem  device    rank  user  submission     time\n"
            "add      Test CPU     1  cem   add/4       1.00 us\n"
            "add      Test CPU     2  ada   add/2       2.00 us\n"
            "add      Test CPU     2  bob   add/3       2.00 us\n"
            "add      Test CPU     4  dan   add/5       9.00 us\n");
}

TEST(ranking, a_run_that_did_not_pass_or_selects_workloads_has_no_rank) {
  Ranking ranking;
  ranking.add(ended_row("add/secret", VerdictName::wrong_answer, evidence("secret", "")));
  RunRow part = by("ada", "add/part", 1'000);
  part.entry.submission.problem.workloads = {{"test.*"}};
  ranking.add(part);
  ranking.add(queued_row("add/later"));
  EXPECT_TRUE(ranking.is_empty());
}

TEST(ranking, csv_has_scores_in_seconds) {
  Ranking ranking;
  ranking.add(by("", "add/1", 1'500));
  EXPECT_EQ(ranking.csv(),
            "problem,rank,user,submission,score_s,gpu,time\n"
            "add,1,add/1,add/1,1.5e-06,Test CPU,2023-11-14T22:13:22.000000Z\n");
}

}  // namespace
}  // namespace kq::tools
