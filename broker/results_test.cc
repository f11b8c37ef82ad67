#include "broker/results.h"

#include <gtest/gtest.h>

#include "broker/script.h"
#include "store/memory_store.h"

namespace kq {
namespace {

TEST(TakeResults, everything_in_a_batch_is_acknowledged_at_once) {
  MemoryStore store;
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

TEST(TakeResults, a_result_ends_the_run_of_failures_of_its_worker) {
  MemoryStore store;
  Script script(store);
  script.run("hello");
  for (const char* line :
       {"submit jobs=a,b", "error leases=1/1", "advance ms=1000", "result leases=1/2", "error leases=2/1"}) {
    script.run(line);
  }
  EXPECT_EQ(script.run("advance ms=999"), "");
  EXPECT_NE(script.run("advance ms=1"), "");  // not two seconds
}

}  // namespace
}  // namespace kq
