// Tests that every format must pass, run for each row of the table of formats.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tools/exporters/testing.h"
#include "tools/testing.h"

namespace kq::tools {
namespace {

namespace fs = std::filesystem;

// A row that every format can represent.
RunRow sample_of(std::uint32_t sample, Verdict verdict) {
  RunRow row = finished_row("level_1_problem_19_sample_" + std::to_string(sample), std::move(verdict), sample + 1);
  row.entry.submission.problem.file = "19_ReLU.py";
  row.entry.submission.tags = {{"op", "relu.default"}, {"args", std::to_string(sample)}, {"test", "both"}};
  return row;
}
std::vector<RunRow> rows() {
  const RunRow passed = passed_row("x", 12'500, 25'000);
  return {sample_of(0, passed.result->verdict),
          sample_of(1, ended(VerdictName::crashed, evidence("", "\xff,\"\n\r\x1b[2J"))), queued_row("x/y"), RunRow{}};
}

class EveryExporter : public ::testing::TestWithParam<const Exporter*> {
 protected:
  ExportOptions options() const { return {.out = (folder / "out").string()}; }
  // Returns the contents of all files in the folder, and checks that there is no temporary file.
  std::string everything() const {
    std::string all;
    for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
      if (!entry.is_regular_file()) continue;
      EXPECT_EQ(entry.path().filename().string().find(".XX"), std::string::npos);
      all += folder.read(entry.path().lexically_relative(folder.path()).string());
    }
    return all;
  }
  const ExportFolder folder;
};

TEST_P(EveryExporter, is_found_by_its_name) {
  EXPECT_EQ(find_exporter(GetParam()->name), GetParam());
}

TEST_P(EveryExporter, any_row_can_be_written_with_its_verdict_and_time) {
  export_rows(*GetParam(), options(), {}, rows());
  const std::string text = everything();
  for (const char* piece : {"passed", "crashed", "12.5"}) {
    const bool is_time = piece[0] == '1';  // in us or in ms
    EXPECT_TRUE(text.find(piece) != std::string::npos || (is_time && text.find("0.0125") != std::string::npos))
        << piece;
  }
}

TEST_P(EveryExporter, no_file_appears_before_finish) {
  const auto selection = Selection::make({}, 0);
  auto opened = GetParam()->open(options(), *selection);
  ASSERT_TRUE(opened) << opened.error().message;
  for (const RunRow& row : rows()) EXPECT_TRUE((*opened)->add(row));
  EXPECT_FALSE(fs::is_regular_file(folder / "out"));
  if (fs::is_directory(folder / "out")) {
    EXPECT_TRUE(fs::is_empty(folder / "out"));
  }
  opened->reset();  // as after a failure
  EXPECT_EQ(everything(), "");
}

TEST_P(EveryExporter, rows_that_are_not_selected_are_not_written) {
  export_rows(*GetParam(), options(), {.where = {"verdict=passed"}}, rows());
  EXPECT_EQ(everything().find("crashed"), std::string::npos);
}

TEST_P(EveryExporter, a_folder_is_not_written_where_no_row_fits) {
  if (!GetParam()->writes_folder) return;
  const auto selection = Selection::make({}, 0);
  auto opened = GetParam()->open(options(), *selection);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_TRUE((*opened)->add(passed_row("mine", 12'500, 25'000)));
  EXPECT_TRUE((*opened)->finish());
  EXPECT_EQ((*opened)->row_count(), 0u);
  EXPECT_EQ((*opened)->notes().size(), 1u);
  opened->reset();
  EXPECT_FALSE(fs::exists(folder / "out"));
}

// Every exporter but flashinfer-trace, which writes only solutions of a trace set (flashinfer_test.cc).
std::vector<const Exporter*> all() {
  std::vector<const Exporter*> found;
  for (const Exporter& exporter : exporters()) {
    if (exporter.name != "flashinfer-trace") found.push_back(&exporter);
  }
  return found;
}
INSTANTIATE_TEST_SUITE_P(all, EveryExporter, ::testing::ValuesIn(all()), [](const auto& row) {
  std::string name(row.param->name);
  std::ranges::replace(name, '-', '_');  // gtest takes no other sign in a name
  return name;
});

TEST(exporters, an_unknown_name_is_not_found) {
  EXPECT_EQ(find_exporter("xml"), nullptr);
}

TEST(exporters, the_error_about_an_unknown_format_lists_the_known_ones) {
  EXPECT_EQ(unknown_format("xml").message,
            "--format must be one of csv, jsonl, kernelbench, backendbench, flashinfer-trace, got 'xml'");
  EXPECT_EQ(unknown_format("parquet").message,
            "--format must be one of csv, jsonl, kernelbench, backendbench, flashinfer-trace, got 'parquet'; "
            "Parquet is made from JSON Lines: "
            "kq-dump NAME --format jsonl | python -m kq export -o FILE.parquet");
}

TEST(exporters, a_file_without_a_format_has_that_of_its_ending) {
  EXPECT_EQ(format_of_file("-"), "csv");
  EXPECT_EQ(format_of_file("out/mine.csv"), "csv");
  EXPECT_EQ(format_of_file("mine"), "csv");
  for (const char* name : {"a.b/mine.jsonl", "mine.ndjson", "mine.jsonlines"}) EXPECT_EQ(format_of_file(name), "jsonl");
  for (const char* name : {"mine.csv.gz", "mine.xlsx", "mine.tsv"})
    EXPECT_THAT(format_of_file(name).error().message, ::testing::HasSubstr("name FILE.csv or FILE.jsonl")) << name;
  EXPECT_EQ(format_of_file("mine.parquet").error().message,
            "mine.parquet would be a file of Parquet; Parquet is made from JSON Lines: "
            "kq-dump NAME --format jsonl | python -m kq export -o FILE.parquet");
  EXPECT_THAT(format_of_file("mine.json").error().message,
              testing::HasSubstr("rows are JSON Lines: name FILE.jsonl, or give --format"));
  EXPECT_EQ(format_of_file("mine.json", "").error().message,
            "mine.json would be one JSON value, but rows are JSON Lines: name FILE.jsonl");
}

}  // namespace
}  // namespace kq::tools
