#include "tools/report/boards/board_folder.h"

#include <gtest/gtest.h>

namespace kq::tools {
namespace {

TEST(BoardFolder, names_of_reports_are_plain_and_differ) {
  EXPECT_EQ(report_name_of("nightly-3"), "nightly-3.html");
  EXPECT_NE(report_name_of("a/b"), report_name_of("a_b"));
  EXPECT_EQ(report_name_of("../x").find('/'), std::string::npos);
}

class NoRuns final : public Source {
 public:
  Expected<RunReply> run_page(const RunQuery&) override { return RunReply{}; }
  Expected<BoardReply> board_page(const BoardQuery&) override { return BoardReply{}; }
};

TEST(BoardFolder, an_installation_without_page_files_is_told) {
  NoRuns source;
  EXPECT_FALSE(write_board_folder(source, {.folder = "/nonexistent/x", .page_files = "/nonexistent"}));
}

}  // namespace
}  // namespace kq::tools
