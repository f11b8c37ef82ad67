#include "tools/top/facts_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/top/testing.h"

namespace kq::tools {
namespace {

using testing::HasSubstr;

TEST(FactsJson, has_the_queue_workers_runs_and_failures) {
  const std::string text = producer::to_text(facts_json(top_facts(), "tcp://broker:5555"));
  EXPECT_THAT(text, HasSubstr(R"({"now_ms": 1795284000000, "broker": "tcp://broker:5555", "version": "0.2.0")"));
  EXPECT_THAT(text, HasSubstr(R"("building": 2, "leased": 1, "finished": {"passed": 500, "wrong_answer": 20}, )"
                              R"("finished_per_s": 8.25)"));
  EXPECT_THAT(text, HasSubstr(R"("worker": "gpu-2", "state": "busy")"));
  EXPECT_THAT(text, HasSubstr(R"("sm_clock_mhz": 1980)"));
  EXPECT_THAT(text, HasSubstr(R"("jobs": [{"id": 7, "run": "monday", "label": "relu/fast")"));
  EXPECT_THAT(text, HasSubstr(R"("conditions": [null])"));
  EXPECT_THAT(text, HasSubstr(R"("passed": 3, "failed": 1)"));
  EXPECT_THAT(text, HasSubstr(R"("verdict": "wrong_answer", "reason": "values", "message": "the output differs")"));
}

TEST(FactsJson, what_is_unknown_is_null) {
  EXPECT_THAT(producer::to_text(facts_json({}, "u")), HasSubstr(R"("finished_per_s": null)"));
}

}  // namespace
}  // namespace kq::tools
