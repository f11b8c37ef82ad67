#include "tools/report/boards/board_index.h"

#include <gmock/gmock.h>

#include "tools/testing.h"

namespace kq::tools {
namespace {

using testing::HasSubstr;
using testing::Not;

RunRow entry(const std::string& label, double median_ns, Sequence seq) {
  RunRow row = passed_row(label, median_ns, 2'000, seq);
  row.job.finished_at_ms = 1'700'000'000'000 + static_cast<std::int64_t>(seq) * 60'000;
  row.result->samples.submission_ns = {static_cast<std::int64_t>(median_ns)};
  return row;
}

std::string index_of(const std::vector<RunRow>& rows) {
  BoardCollector collector;
  for (const RunRow& row : rows) collector.add(row);
  return board_index_page({}, collector.finish(), {});
}

TEST(BoardIndex, counts_what_the_boards_have) {
  const std::string html = index_of({entry("relu/a", 1'000, 1), entry("relu/b", 900, 2)});
  EXPECT_THAT(html, HasSubstr("<dt>problem</dt><dd><strong>1</strong>"));
  EXPECT_THAT(html, HasSubstr("<dt>passed kernels</dt><dd><strong>2</strong>"));
}

TEST(BoardIndex, lists_records_that_replaced_another) {
  EXPECT_THAT(index_of({entry("relu/a", 1'000, 1)}), Not(HasSubstr("Newest records")));
  const std::string html = index_of({entry("relu/a", 1'000, 1), entry("relu/b", 500, 2)});
  EXPECT_THAT(html, HasSubstr("Newest records"));
  EXPECT_THAT(html, HasSubstr(">2.00x</b>"));
}

TEST(BoardIndex, a_form_of_the_reference_that_all_boards_share_is_no_column) {
  RunRow compiled = entry("relu/b", 1'000, 2);
  EXPECT_THAT(index_of({entry("relu/a", 1'000, 1)}), HasSubstr("All speedups are over the eager reference."));
  compiled.entry.submission.trials.baseline = Baseline::compile;
  EXPECT_THAT(index_of({entry("relu/a", 1'000, 1), compiled}), HasSubstr("<th class=\"more\">reference</th>"));
}

TEST(BoardIndex, problems_of_one_name_are_told_apart) {
  RunRow other = entry("relu/b", 1'000, 2);
  other.entry.submission.problem.hash = sha256("another relu");
  const std::string mark = "<span class=\"quiet\">" + to_hex(sha256("another relu")).substr(0, 8);
  EXPECT_THAT(index_of({other}), Not(HasSubstr(mark)));
  EXPECT_THAT(index_of({entry("relu/a", 1'000, 1), other}), HasSubstr(mark));
}

}  // namespace
}  // namespace kq::tools
