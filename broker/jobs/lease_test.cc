#include "broker/jobs/lease.h"

#include <gtest/gtest.h>

#include "broker/script/script.h"
#include "store/memory_store.h"

namespace kq::broker {
namespace {

class LeaseTest : public testing::Test {
 protected:
  std::string run(std::initializer_list<std::string_view> lines) {
    std::string sent;
    for (const std::string_view line : lines) sent = script.run(line);
    return sent.substr(std::min(sent.find("send"), sent.size()));
  }

  store::MemoryStore store;
  Script script{store};
};

TEST_F(LeaseTest, few_jobs_spread_over_many_workers) {
  EXPECT_EQ(run({"hello worker=w1 credit=4", "hello worker=w2 credit=4", "submit jobs=a,b"}),
            "send c submit_ack: accepted 1 queued; accepted 2 queued\n"
            "send w1 lease_batch: 1/1 a on cpu, 2 blobs\n"
            "send w2 lease_batch: 2/1 b on cpu, 2 blobs\n");
}

TEST_F(LeaseTest, the_devices_of_a_worker_share_its_leases) {
  EXPECT_EQ(run({"submit jobs=a,b,c device=cuda", "hello devices=H200,A100,cpu credit=3"}),
            "send w welcome: heartbeat 5000 ms, lease 30000 ms\n"
            "send w lease_batch: 1/1 a on H200, 2 blobs; 2/1 b on A100, 2 blobs; 3/1 c on H200, 2 blobs\n");
}

TEST_F(LeaseTest, a_quiet_worker_gets_no_new_jobs) {
  EXPECT_EQ(run({"hello", "advance ms=14999", "submit jobs=a"}),
            "send c submit_ack: accepted 1 queued\n"
            "send w lease_batch: 1/1 a on cpu, 2 blobs\n");
  EXPECT_EQ(run({"result leases=1/1", "advance ms=15000", "submit jobs=b"}), "send c submit_ack: accepted 2 queued\n");
}

TEST_F(LeaseTest, a_job_is_leased_at_the_end_of_the_turn_that_accepted_it) {
  EXPECT_EQ(run({"hello", "begin", "submit jobs=a", "commit"}),
            "send c submit_ack: accepted 1 queued\n"
            "send w lease_batch: 1/1 a on cpu, 2 blobs\n");
}

}  // namespace
}  // namespace kq::broker
