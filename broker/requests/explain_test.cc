#include "broker/requests/explain.h"

#include <gtest/gtest.h>

#include "broker/script/script.h"
#include "store/memory_store.h"

namespace kq::broker {
namespace {

// How the position and the jobs ahead are computed; the files in testdata cover the reasons.
class ExplainTest : public testing::Test {
 protected:
  std::string run(std::initializer_list<std::string_view> lines) {
    std::string sent;
    for (const std::string_view line : lines) sent = script.run(line);
    return sent;
  }

  store::MemoryStore store;
  Script script{store};
};

TEST_F(ExplainTest, higher_priorities_and_a_fair_share_of_the_others_are_ahead) {
  EXPECT_EQ(
      run({"hello credit=0", "submit by=a jobs=a1,a2,a3", "submit by=b jobs=b1,b2,b3,b4,b5",
           "submit by=c jobs=c1 priority=high", "submit by=d jobs=d1 priority=low", "status seqs=1,3,8"}),
      "send c status_reply: 1 queued served behind position=1 ahead=2; 3 queued served behind position=3 ahead=6; "
      "8 queued served behind position=5 ahead=8\n");
}

TEST_F(ExplainTest, jobs_of_any_class_that_run_on_the_same_workers_are_ahead) {
  EXPECT_EQ(run({"hello credit=0", "submit jobs=a,b backend=triton", "submit jobs=c", "submit jobs=d backend=triton",
                 "status seqs=3"}),
            "send c status_reply: 3 queued served behind position=1 ahead=2\n");
}

TEST_F(ExplainTest, a_fair_share_is_counted_over_all_lanes_of_a_submitter) {
  EXPECT_EQ(run({"hello credit=0", "submit by=a jobs=a1,a2 backend=triton", "submit by=a jobs=a3,a4",
                 "submit by=b jobs=b1,b2", "status seqs=6"}),
            "send c status_reply: 6 queued served behind position=2 ahead=3\n");
}

TEST_F(ExplainTest, jobs_that_run_on_other_workers_or_nowhere_are_not_ahead) {
  EXPECT_EQ(run({"hello worker=w1 credit=0 backends=torch", "hello worker=w2 credit=0 backends=triton",
                 "submit jobs=a,b backend=triton", "submit jobs=c labels=nowhere", "submit by=x jobs=d", "pause of=x",
                 "submit jobs=e", "status seqs=5"}),
            "send c status_reply: 5 queued served behind position=1 ahead=0\n");
}

}  // namespace
}  // namespace kq::broker
