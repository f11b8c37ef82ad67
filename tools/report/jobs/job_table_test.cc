#include "tools/report/jobs/job_table.h"

#include <gmock/gmock.h>

#include "producer/client/json.h"
#include "tools/testing.h"

namespace kq::tools {
namespace {

using testing::HasSubstr;

TEST(JobTable, keeps_each_text_once_and_unknown_numbers_as_null) {
  JobTable table;
  table.add(passed_row("relu/a", 1'000, 2'000, 7), 0);
  table.add(ended_row("relu/b", VerdictName::wrong_answer, evidence("shape", "first\nsecond"), 8), 1);
  const std::string json = table.json();
  ASSERT_TRUE(producer::parse_json(json)) << json;
  EXPECT_THAT(json, HasSubstr("\"problem\": {\"values\": [\"relu\"], \"of\": [0,0]}"));
  EXPECT_THAT(json, HasSubstr("\"message\": {\"values\": [\"\",\"first\"], \"of\": [0,1]}"));
  EXPECT_THAT(json, HasSubstr("\"job\": [7,8]"));
  EXPECT_THAT(json, HasSubstr("\"page\": [0,1]"));
  EXPECT_THAT(json, HasSubstr("\"speedup\": [2,null]"));
}

TEST(JobTable, a_table_without_jobs_is_valid) {
  EXPECT_TRUE(producer::parse_json(JobTable().json())) << JobTable().json();
}

}  // namespace
}  // namespace kq::tools
