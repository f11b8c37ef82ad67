#include "tools/views/ranking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Returns a passed job of a model for the problem relu, whose speedup is 100 us / `median_us`.
RunRow row_of(const std::string& label, Sequence seq, double median_us, const std::string& model,
              Baseline baseline = Baseline::eager) {
  RunRow row = passed_row("relu/" + label, median_us * 1e3, 100e3);
  row.job.seq = seq;
  row.entry.submission.tags = {{"model", model}};
  row.entry.submission.trials.baseline = baseline;
  return row;
}

TEST(ranking, the_best_of_each_value_of_a_tag) {
  Ranking ranking({.by = "tag.model", .top = 1});
  ranking.add("r1", row_of("a", 1, 50, "m1"));
  ranking.add("r1", row_of("b", 2, 25, "m1"));
  ranking.add("r2", row_of("c", 3, 200, "m2"));
  const std::string text = ranking.table();
  EXPECT_THAT(text, HasSubstr("m1"));
  EXPECT_THAT(text, HasSubstr("4.00x"));
  EXPECT_THAT(text, Not(HasSubstr("2.00x")));
  EXPECT_THAT(text, HasSubstr("baseline eager: 1 of 1 problem solved, 1 faster than the reference"));
  EXPECT_THAT(text, HasSubstr("baseline eager: 1 of 1 problem solved, 0 faster than the reference"));
  EXPECT_THAT(ranking.csv(), HasSubstr("\ntag.model,m2,"));
}

TEST(ranking, the_fastest_kernels_are_ranked_and_a_job_of_two_runs_counts_once) {
  Ranking ranking({.by = "", .top = 2});
  for (const Sequence seq : {1, 2, 3})
    ranking.add("r1", row_of("k" + std::to_string(seq), seq, 10.0 * static_cast<double>(seq), "m"));
  ranking.add("r2", row_of("again", 1, 10, "m"));
  const std::string text = ranking.table();
  EXPECT_THAT(text, HasSubstr("rank"));
  EXPECT_THAT(text, HasSubstr("k2"));
  EXPECT_THAT(text, Not(HasSubstr("k3")));
  EXPECT_THAT(text, Not(HasSubstr("again")));
}

TEST(ranking, baselines_are_never_mixed) {
  Ranking ranking({.by = "", .top = 1});
  ranking.add("r1", row_of("eager", 1, 50, "m"));
  ranking.add("r1", row_of("compiled", 2, 25, "m", Baseline::compile));
  const std::string text = ranking.table();
  EXPECT_THAT(text, HasSubstr("baseline eager: 1 of 1"));
  EXPECT_THAT(text, HasSubstr("baseline compile: 1 of 1"));
}

TEST(ranking, an_unknown_column_is_refused) {
  EXPECT_TRUE(validate({.by = "tag.model"}));
  EXPECT_FALSE(validate({.by = "tag."}));
  EXPECT_EQ(validate({.by = "speedup"}).error().message, "--by must be author, backend or tag.NAME, got 'speedup'");
}

}  // namespace
}  // namespace kq::tools
