#include "tools/table/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "tools/exporters/exporter.h"
#include "tools/testing.h"

namespace kq::tools {
namespace {

Selection everything() {
  return *Selection::make({}, 0);
}

// Checks one value against its property. Understands only the keywords that json_schema() uses.
void expect_allowed(const producer::Json& property, const producer::Json& value, std::string_view name) {
  if (const producer::Json* only = property.find("const")) {
    EXPECT_EQ(producer::to_text(*only), producer::to_text(value)) << name;
    return;
  }
  const char* type = value.is_null()              ? "null"
                     : value.text() != nullptr    ? "string"
                     : value.boolean() != nullptr ? "boolean"
                     : value.integer() != nullptr ? "integer"
                                                  : "number";
  bool is_allowed = false;
  for (const producer::Json& allowed : *property.find("type")->array()) {
    is_allowed |= *allowed.text() == type || (*allowed.text() == "number" && value.integer() != nullptr);
  }
  EXPECT_TRUE(is_allowed) << name << " is " << producer::to_text(value);
}

TEST(schema, the_schema_file_in_share_matches_the_columns) {
  std::ifstream file(KQ_SHARE "/kq.result-1.schema.json");
  const std::string shipped((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(shipped, json_schema(everything()))
      << "regenerate the file: kq-dump --schema --format jsonl >share/kq.result-1.schema.json";
}

TEST(schema, rows_of_every_kind_match_the_schema) {
  const auto schema = producer::parse_json(json_schema(everything()));
  ASSERT_TRUE(schema) << schema.error().message;
  RunRow full = passed_row("relu/fast", 12'500, 25'000);
  full.result->software = {"0.1", "3.11", "2.11", "3.6", "13.0"};
  full.result->times = {.build_ms = 3, .build_cached = true, .run_ms = 7};
  full.entry.submission.problem.rtol = 0.5;
  Evidence differs = evidence("value", "a\n\"b\"");
  differs.mismatch = Mismatch{.element = 1ull << 60, .max_abs_err = 0.5, .mismatched = 3, .total = 9};
  for (const RunRow& row :
       {full, ended_row("relu/wrong", VerdictName::wrong_answer, differs), queued_row("relu/later"), RunRow{}}) {
    const producer::Json line = to_json(row);
    const producer::Json& properties = *schema->find("properties");
    EXPECT_EQ(line.object()->size(), properties.object()->size());
    for (const auto& [name, value] : *line.object()) {
      ASSERT_NE(properties.find(name), nullptr) << name;
      expect_allowed(*properties.find(name), value, name);
    }
  }
}

TEST(schema, the_table_has_units_and_meanings) {
  const std::string table = schema_table(*Selection::make({.columns = "median_us,label"}, 0));
  EXPECT_EQ(table,
            "column     unit  meaning\n"
            "median_us  us    published time of one call; its rule is in integrity.md\n"
            "label      -     name of the job, unique in its run\n");
}

}  // namespace
}  // namespace kq::tools
