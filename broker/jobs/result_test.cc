#include "broker/jobs/result.h"

#include <gtest/gtest.h>

#include "broker/script/script.h"
#include "core/limits.h"
#include "store/memory_store.h"
#include "store/reader.h"

namespace kq::broker {
namespace {

TEST(HandleResults, everything_in_a_batch_is_acknowledged_at_once) {
  store::MemoryStore store;
  Script script(store);
  script.run("submit jobs=a,b");
  script.run("hello credit=2");
  script.run("begin");
  script.run("result leases=1/1,2/1,9/9 verdict=build_failed");
  EXPECT_EQ(script.run("commit"),
            "write queue: job 1 out\n"
            "write job 1 finished attempt=1\n"
            "write result of job 1 build_failed on cpu\n"
            "write queue: job 2 out\n"
            "write job 2 finished attempt=1\n"
            "write result of job 2 build_failed on cpu\n"
            "send w result_ack: 1/1; 2/1; 9/9\n");
}

TEST(HandleResults, a_result_resets_the_failures_of_its_worker) {
  store::MemoryStore store;
  Script script(store);
  script.run("hello");
  for (const char* line :
       {"submit jobs=a,b", "error leases=1/1", "advance ms=1000", "result leases=1/2", "error leases=2/1"}) {
    script.run(line);
  }
  EXPECT_EQ(script.run("advance ms=999"), "");
  EXPECT_NE(script.run("advance ms=1"), "");  // the worker backs off for one second, not two
}

TEST(HandleResults, an_invalid_result_is_a_failed_attempt) {
  store::MemoryStore store;
  Script script(store);
  script.run("submit jobs=a");
  script.run("hello");
  EXPECT_EQ(script.run("result leases=1/1 device=H\x01"),
            "write queue: job 1 out\n"
            "write timer: job 1 may run at 1000\n"
            "write job 1 queued attempt=1 failures=1 \"a result of w that cannot be: its device's model holds a "
            "control character at byte 1\"\n"
            "send w result_ack: 1/1\n");
}

TEST(HandleResults, a_result_that_is_too_long_is_cut_and_counts) {
  store::MemoryStore store;
  Broker broker = *Broker::recover(store, {}, 1000);
  const auto happen = [&](Event event) {
    Ready turn;
    ASSERT_TRUE(broker.step(Tick{}, 1000, turn) && broker.step(std::move(event), 1000, turn) &&
                broker.step(Dispatch{}, 1000, turn));
    ASSERT_TRUE(commit(std::move(turn), store));
  };
  DeviceInfo cpu;
  cpu.model = "EPYC";
  happen(FromWorker{
      "w",
      {1,
       Hello{.worker = "w", .epoch = 1, .devices = {cpu}, .credit = 1, .evaluator = std::string(kEvaluatorVersion)}}});
  Submission submission;
  submission.label = "a";
  submission.files = {{"a.py", sha256("a")}};
  submission.problem.name = submission.problem.file = "relu";
  submission.problem.hash = sha256("a");
  happen(FromClient{"c", {1, SubmitBatch{.run = "r", .jobs = {submission}, .blobs = {{sha256("a"), "a"}}}}});
  Result result;
  result.verdict = ended(VerdictName::timed_out, {});
  result.log.assign(40u << 20, 'x');
  happen(FromWorker{"w", {1, ResultBatch{.epoch = 1, .results = {{{1, 1}, result}}, .errors = {}}}});
  const auto kept = store::read_result(store, 1, false);
  ASSERT_TRUE(kept && *kept);
  EXPECT_LT((*kept)->log.size(), kLogBytesMax + 2'000);
  EXPECT_EQ(name_of((*kept)->verdict), VerdictName::timed_out);
}

}  // namespace
}  // namespace kq::broker
