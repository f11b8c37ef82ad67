#include "producer/gateway/rest/values.h"

#include <gtest/gtest.h>

namespace kq::gateway {
namespace {

TEST(RestValues, an_object_keeps_the_order_of_its_members) {
  Object object;
  object.add("b", "text").add("a", 3).add("c", true).add("d", 0.5).add("e", time_json(0));
  EXPECT_EQ(producer::to_text(object.json()), R"({"b": "text", "a": 3, "c": true, "d": 0.5, "e": null})");
}

TEST(RestValues, a_finished_job_has_a_verdict) {
  RunRow row;
  row.job.state = JobState::finished;
  row.job.submitted_at_ms = 1'763'748'000'000;
  row.result = Result{};
  row.result->verdict = ended(VerdictName::wrong_answer, {});
  const auto json = job_object({5, "r", "l"}, row).json();
  EXPECT_EQ(*json.find("verdict")->text(), "wrong_answer");
  EXPECT_EQ(*json.find("submitted_at")->text(), "2025-11-21T18:00:00Z");
  EXPECT_EQ(*json.find("job")->integer(), 5);
  EXPECT_EQ(json.find("finished_at"), nullptr);
}

TEST(RestValues, numbers_are_read_within_bounds) {
  EXPECT_EQ(whole_number("5", 0, 5), 5);
  for (const char* text : {"", "6", "-1", "5 ", "5.0", "0x5", "99999999999999999999"})
    EXPECT_EQ(whole_number(text, 0, 5), std::nullopt) << text;
}

}  // namespace
}  // namespace kq::gateway
