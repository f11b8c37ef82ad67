#include "tools/report/compare/compare_text.h"

#include <gmock/gmock.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Runs {
  RunResults base, now;
  Runs() {
    const RunRow row = passed_row("relu/a", 1'000, 2'000);
    base.emplace("relu/a", kernel_result(row));
    base.emplace("relu/b", kernel_result(passed_row("relu/b", 1'000, 2'000, 2)));
    now.emplace("relu/a", kernel_result(row));
    now.emplace("relu/b", kernel_result(ended_row("relu/b", VerdictName::wrong_answer, evidence("shape"), 9)));
  }
  Comparison compared() const { return compare_runs("r1", base, "r2", now, {}); }
};

TEST(CompareText, the_table_lists_changes_and_counts_the_rest) {
  const Runs runs;
  const std::string text = compare_table(runs.compared(), {.by = "problem"});
  EXPECT_THAT(text, HasSubstr("failed  relu/b  1.00 us ±1%  wrong_answer (shape)"));
  EXPECT_THAT(text, Not(HasSubstr("relu/a")));
  EXPECT_THAT(text, HasSubstr("2 kernels: 1 failed, 1 same\n"));
  EXPECT_THAT(text, HasSubstr("relu     1 failed, 1 same"));
  EXPECT_THAT(compare_table(runs.compared(), {.all = true}), HasSubstr("relu/a"));
}

TEST(CompareText, the_table_of_speedups_has_speedups_on_both_sides) {
  const Runs runs;
  const Comparison compared = compare_runs("r1", runs.base, "r2", runs.now, {.metric = Metric::speedup});
  const std::string text = compare_table(compared, {.all = true});
  EXPECT_THAT(text, StartsWith("r1 -> r2, by speedup over the reference of the same run\n"));
  EXPECT_THAT(text, HasSubstr("2.00x ±1%"));
  EXPECT_THAT(text, Not(HasSubstr(" us")));
}

TEST(CompareText, json_has_both_sides_of_each_kernel) {
  const Runs runs;
  const std::vector<Comparison> comparisons{runs.compared()};
  const std::string json = producer::to_text(compare_json(comparisons, {}));
  EXPECT_THAT(json, HasSubstr("\"schema\": \"kq.comparison/1\""));
  EXPECT_THAT(json, HasSubstr("\"regression_count\": 1"));
  EXPECT_THAT(json, HasSubstr("\"noise_us\": 0.01, \"reference_noise_us\": 0.02, \"noisy\": false"));
  EXPECT_THAT(json, HasSubstr("\"outcome\": \"wrong_answer (shape)\""));
}

TEST(CompareText, a_ratio_says_its_direction) {
  EXPECT_EQ(ratio_text(1.25), "1.25x faster");
  EXPECT_EQ(ratio_text(0.8), "1.25x slower");
  EXPECT_EQ(ratio_text(1.001), "as before");
  EXPECT_EQ(ratio_text(0), "-");
}

}  // namespace
}  // namespace kq::tools
