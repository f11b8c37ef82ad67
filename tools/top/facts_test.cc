#include "tools/top/facts.h"

#include <gtest/gtest.h>

#include "tools/top/testing.h"

namespace kq::tools {
namespace {

TEST(Gatherer, workers_have_their_jobs_and_the_queue_its_counts) {
  FakeTopSource source;
  for (const char* label : {"a", "b", "c"}) source.broker_source.add("r", label);
  source.broker_source.lease("r", "a");
  source.broker_source.broker_reply.workers[0].running = 1;
  source.broker_source.broker_reply.workers[0].building = 2;
  source.broker_source.queue.waiting = 1;
  Gatherer gatherer;
  const TopFacts facts = gatherer.look(source).value();
  EXPECT_TRUE(gatherer.is_complete());
  EXPECT_EQ(facts.queued, 2u);
  EXPECT_EQ(facts.running, 1u);
  EXPECT_EQ(facts.building, 2u);
  EXPECT_EQ(facts.waiting, 1u);
  ASSERT_EQ(facts.workers.size(), 1u);
  EXPECT_EQ(facts.workers[0].state, "busy");
  ASSERT_EQ(facts.workers[0].jobs.size(), 1u);
  EXPECT_EQ(facts.workers[0].jobs[0].label, "a");
  EXPECT_EQ(facts.workers[0].conditions.size(), 1u);
  EXPECT_EQ(facts.runs.at(0).run, "r");
}

TEST(Gatherer, the_rate_is_that_of_the_last_looks) {
  FakeTopSource source;
  Gatherer gatherer;
  source.stats.metrics = {
      finished_metric("passed", 10), finished_metric("crashed", 5), {.name = "other", .labels = {}}};
  TopFacts facts = gatherer.look(source).value();
  EXPECT_EQ(facts.finished_per_s, std::nullopt);
  EXPECT_EQ(facts.finished, (std::map<std::string, std::uint64_t>{{"crashed", 5}, {"passed", 10}}));
  source.now_ms += kRateLeastMs / 2;
  EXPECT_EQ(gatherer.look(source).value().finished_per_s, std::nullopt);
  source.now_ms += 2'000 - kRateLeastMs / 2;
  source.stats.metrics[0].value = 14;
  EXPECT_DOUBLE_EQ(gatherer.look(source).value().finished_per_s.value(), 2.0);
  // Looks that are older than the span do not count.
  source.now_ms += kRateSpanMs;
  EXPECT_DOUBLE_EQ(gatherer.look(source).value().finished_per_s.value(), 0.0);
}

TEST(Gatherer, a_broker_that_was_started_again_counts_from_0) {
  FakeTopSource source;
  Gatherer gatherer;
  source.stats.metrics = {finished_metric("passed", 10)};
  ASSERT_TRUE(gatherer.look(source));
  source.now_ms += 2'000;
  source.stats.metrics = {finished_metric("passed", 1)};
  EXPECT_EQ(gatherer.look(source).value().finished_per_s, std::nullopt);
}

TEST(Gatherer, an_unreachable_broker_is_an_error) {
  FakeTopSource source;
  source.broker_source.failure_of_all = Error{ErrorKind::our_fault, "no answer"};
  Gatherer gatherer;
  EXPECT_EQ(gatherer.look(source).error().message, "no answer");
}

}  // namespace
}  // namespace kq::tools
