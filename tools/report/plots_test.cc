#include "tools/report/plots.h"

#include <gmock/gmock.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

std::string values_of(const PlotBuilder& builder, std::string_view kind, const Leaderboard& board = {}) {
  for (const PlotValues& plot : builder.values(board)) {
    if (plot.kind == kind) return plot.values;
  }
  return "";
}

RunRow with_samples(std::string label, std::vector<std::int64_t> samples_ns) {
  RunRow row = passed_row(std::move(label), static_cast<double>(samples_ns.front()), 5'000);
  row.result->samples = {.submission_ns = samples_ns, .reference_ns = {5'000, 5'100}};
  return row;
}

TEST(Plots, counts_verdicts_with_their_faults) {
  PlotBuilder builder;
  builder.add(passed_row("relu/a", 1'000, 2'000));
  builder.add(ended_row("relu/b", VerdictName::crashed));
  builder.add(queued_row("relu/c"));
  EXPECT_EQ(values_of(builder, "verdicts"),
            "[{\"verdict\": \"crashed\", \"fault\": \"user\", \"jobs\": 1},\n"
            "{\"verdict\": \"passed\", \"fault\": \"none\", \"jobs\": 1},\n"
            "{\"verdict\": \"queued\", \"fault\": \"unfinished\", \"jobs\": 1}]");
}

TEST(Plots, bins_of_speedups_end_at_one) {
  PlotBuilder builder;
  builder.add(passed_row("relu/a", 1'000, 1'000));
  builder.add(passed_row("relu/b", 1'001, 1'000));
  const std::string values = values_of(builder, "speedups");
  EXPECT_THAT(values, HasSubstr("\"from\": 1, \"to\": 1.18921, \"jobs\": 1, \"side\": \"faster\""));
  EXPECT_THAT(values, HasSubstr("\"to\": 1, \"jobs\": 1, \"side\": \"slower\""));
}

TEST(Plots, fast_p_is_that_of_the_board) {
  LeaderboardBuilder board("r1");
  board.add(passed_row("relu/a", 1'000, 2'000));
  board.add(ended_row("gelu/a", VerdictName::crashed));
  EXPECT_THAT(values_of({}, "fast-p", board.finish()),
              HasSubstr("{\"p\": 1, \"fraction\": 0.5, \"device\": \"Test CPU\"}"));
}

TEST(Plots, a_run_in_which_nothing_passed_has_only_the_plot_of_its_verdicts) {
  PlotBuilder builder;
  LeaderboardBuilder board("r1");
  const RunRow row = ended_row("gelu/a", VerdictName::crashed);
  builder.add(row);
  board.add(row);
  for (const PlotValues& plot : builder.values(board.finish())) {
    const auto checked = check_drawable(plot);
    EXPECT_EQ(checked.has_value(), plot.kind == "verdicts") << plot.kind;
    if (checked) continue;
    EXPECT_EQ(checked.error().kind, ErrorKind::not_found);
    EXPECT_THAT(checked.error().message, HasSubstr("no kernel of the run has "));
  }
}

TEST(Plots, more_points_than_can_be_drawn_are_left_out_evenly) {
  PlotBuilder builder;
  for (std::size_t i = 0; i < 2 * kPlotPointsMax; ++i)
    builder.add(passed_row("relu/" + std::to_string(i), 1'000 + static_cast<double>(i), 2'000, i));
  const auto plots = builder.values({});
  EXPECT_EQ(plots.back().note, "Drawn are 3000 of 6000 kernels, taken evenly.");
  EXPECT_THAT(plots.back().values, HasSubstr("\"job\": 5999,"));
}

TEST(Plots, strips_are_those_of_the_fastest_kernels) {
  PlotBuilder builder;
  for (int i = 30; i > 0; --i) builder.add(with_samples("relu/" + std::to_string(i), {1'000 * i, 1'001 * i}));
  const std::string strips = builder.strips();
  EXPECT_THAT(strips,
              HasSubstr("{\"name\": \"relu\", \"strips\": [{\"label\": \"relu/1\", \"submission\": [1000,1001], "
                        "\"reference\": [5000,5100]}"));
  EXPECT_THAT(strips, Not(HasSubstr("relu/13")));
  EXPECT_THAT(builder.problems_with_samples(), ElementsAre("relu"));
  EXPECT_EQ(builder.samples_of("gelu"), "");
  EXPECT_EQ(builder.note_of_samples("relu"), "the 12 fastest of 30 kernels");
  EXPECT_EQ(builder.note_of_samples("gelu"), "");
}

TEST(Plots, texts_cannot_turn_the_line_of_a_picture) {
  PlotBuilder builder;
  builder.add(passed_row("relu/\u202Eevil", 1'000, 2'000));
  EXPECT_THAT(values_of(builder, "times"), Not(HasSubstr("\u202E")));
}

TEST(Plots, a_whole_plot_has_its_values_and_the_theme) {
  const std::string plots = R"({"themes": {"dark": {"background": "#000"}},
                                "plots": {"times": {"title": "Times", "spec": {"mark": "point"}}}})";
  const auto whole = whole_plot(plots, {.kind = "times", .values = "[1]", .note = ""}, "r1", true);
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_THAT(*whole, HasSubstr("\"data\": {\"name\": \"values\", \"values\": [1]}"));
  EXPECT_THAT(*whole, HasSubstr("\"background\": \"#000\""));
  EXPECT_FALSE(whole_plot(plots, {.kind = "ranks", .values = "[]", .note = ""}, "r1", true));
}

}  // namespace
}  // namespace kq::tools
