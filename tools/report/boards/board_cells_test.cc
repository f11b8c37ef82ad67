#include "tools/report/boards/board_cells.h"

#include <gtest/gtest.h>

namespace kq::tools {
namespace {

TEST(BoardCells, a_figure_sorts_by_its_value_and_an_unknown_one_has_none) {
  EXPECT_EQ(figure_cell("1.50 us", 1'500), "<td class=\"n\" data-value=\"1500\">1.50 us</td>");
  EXPECT_EQ(figure_cell("-", 0, " more"), "<td class=\"n more\" data-value=\"\">-</td>");
}

TEST(BoardCells, noise_has_two_digits) {
  Standing entry;
  EXPECT_EQ(noise_text(entry), "");
  entry.row.median_ns = 1'000;
  entry.row.noise_ns = 12.6;
  EXPECT_EQ(noise_text(entry), "±1.3 %");
  entry.row.noise_ns = 126;
  EXPECT_EQ(noise_text(entry), "±13 %");
}

TEST(BoardCells, a_self_reported_time_is_marked) {
  Standing entry;
  entry.row.backend = "cuda";
  EXPECT_EQ(backend_text(entry), "cuda");
  entry.is_self_reported = true;
  EXPECT_EQ(backend_text(entry), "cuda (self-reported)");
}

TEST(BoardCells, a_time_of_a_busy_machine_is_marked_and_the_mark_explained) {
  Standing entry;
  entry.row.median_ns = 1'500;
  EXPECT_EQ(median_text(entry.row), "1.50 us");
  EXPECT_EQ(busy_html({&entry, 1}), "");
  entry.row.is_noisy = true;
  EXPECT_EQ(median_text(entry.row), "~1.50 us");
  EXPECT_NE(busy_html({&entry, 1}).find("~: the machine was busy"), std::string::npos);
}

TEST(BoardCells, a_kernel_links_to_its_job_where_its_run_has_a_report) {
  Standing entry;
  entry.row.seq = 7;
  entry.row.label = "<i>";
  entry.run_names = {"r1", "r2"};
  EXPECT_EQ(kernel_html(entry, {}, ""), "&lt;i&gt;");
  BoardPagesOptions options;
  options.report_of_run.emplace("r1", "r 1.html");
  EXPECT_EQ(kernel_html(entry, options, "../"), "<a href=\"../runs/r%201.html#job=7\">&lt;i&gt;</a>");
}

}  // namespace
}  // namespace kq::tools
