#include "broker/jobs/prebuild.h"

#include <gtest/gtest.h>

#include "broker/script/script.h"
#include "store/memory_store.h"

namespace kq::broker {
namespace {

class PrebuildTest : public testing::Test {
 protected:
  // Runs the lines, and returns the messages that the last one sends.
  std::string run(std::initializer_list<std::string_view> lines) {
    std::string text;
    for (const std::string_view line : lines) text = script.run(line);
    return text.substr(std::min(text.find("send"), text.size()));
  }
  std::size_t artifact_count() const {
    std::size_t n = 0;
    (void)store.scan(store::Family::object, "", "", [&](auto, auto) { return ++n > 0; });
    return n;
  }

  store::MemoryStore store;
  Script script{store};
  const char* builder = "hello worker=b builds_for=sm_90 credit=2";
};

const std::string kAck1 = "send b result_ack: 1/0\n";

TEST_F(PrebuildTest, a_queued_job_is_built_and_its_worker_gets_the_artifact) {
  EXPECT_EQ(run({"submit jobs=a device=cuda", builder}),
            "send b welcome: heartbeat 5000 ms, lease 30000 ms\nsend b build_batch: 1/0 a on sm_90, 2 blobs\n");
  EXPECT_EQ(run({"built worker=b seq=1 object=code"}), kAck1);
  EXPECT_EQ(artifact_count(), 1u);
  EXPECT_EQ(run({"hello worker=w devices=H200"}),
            "send w welcome: heartbeat 5000 ms, lease 30000 ms\nsend w lease_batch: 1/1 a on H200, 2 blobs, object "
            "\"code\"\n");
  EXPECT_EQ(run({"result worker=w leases=1/1", "tick"}), "");
  EXPECT_EQ(artifact_count(), 0u);
}

TEST_F(PrebuildTest, an_artifact_of_this_turn_is_sent_with_the_lease_at_its_end) {
  EXPECT_EQ(run({"submit jobs=a device=cuda", builder, "begin", "built worker=b seq=1 object=code",
                 "hello worker=w devices=H200", "commit"}),
            kAck1 +
                "send w welcome: heartbeat 5000 ms, lease 30000 ms\nsend w lease_batch: 1/1 a on H200, 2 blobs, object "
                "\"code\"\n");
}

TEST_F(PrebuildTest, a_worker_never_waits_for_a_builder_and_the_build_is_stopped) {
  EXPECT_EQ(run({"submit jobs=a device=cuda", builder, "hello worker=w devices=H200"}),
            "send w welcome: heartbeat 5000 ms, lease 30000 ms\nsend b revoke: 1/0\nsend w lease_batch: 1/1 a on H200, "
            "2 blobs\n");
  EXPECT_EQ(run({"built worker=b seq=1 object=late"}), kAck1);
  EXPECT_EQ(artifact_count(), 0u);
}

TEST_F(PrebuildTest, an_artifact_survives_failures_and_restarts_and_is_removed_with_its_job) {
  run({"submit jobs=a device=cuda", builder, "built worker=b seq=1 object=code", "hello worker=w devices=H200",
       "error worker=w leases=1/1", "start"});
  EXPECT_EQ(artifact_count(), 1u);
  EXPECT_EQ(run({"hello worker=w devices=H200", "advance ms=60000", "hello worker=w2 devices=H200"}),
            "send w2 welcome: heartbeat 5000 ms, lease 30000 ms\nsend w2 lease_batch: 1/2 a on H200, 2 blobs, object "
            "\"code\"\n");
  EXPECT_EQ(run({"cancel seqs=1"}).substr(0, 0), "");
  EXPECT_EQ(artifact_count(), 0u);
}

TEST_F(PrebuildTest, only_jobs_that_will_run_on_a_target_are_built_for_it) {
  run({"submit jobs=cpu device=cpu", "submit jobs=any", "submit jobs=named device=cuda gpu_model=H200"});
  EXPECT_EQ(run({builder}), "send b welcome: heartbeat 5000 ms, lease 30000 ms\n")
      << "no connected GPU shows where the jobs will run";
  EXPECT_EQ(run({"hello worker=c builds_for=cpu credit=9"}),
            "send c welcome: heartbeat 5000 ms, lease 30000 ms\nsend c build_batch: 1/0 cpu on cpu, 2 blobs; 2/0 any "
            "on cpu, 2 blobs\n");
  run({"goodbye worker=c", "hello worker=w devices=H200 credit=0"});
  EXPECT_EQ(run({"advance ms=100"}), "send b build_batch: 2/0 any on sm_90, 2 blobs; 3/0 named on sm_90, 2 blobs\n");
}

TEST_F(PrebuildTest, nothing_is_built_for_an_architecture_that_no_connected_gpu_has) {
  EXPECT_EQ(run({"submit jobs=a device=cuda", "hello worker=w devices=B200:80:sm_100 credit=0", builder}),
            "send b welcome: heartbeat 5000 ms, lease 30000 ms\n");
}

TEST_F(PrebuildTest, an_artifact_for_another_architecture_is_not_sent) {
  run({"submit jobs=a device=cuda", builder, "built worker=b seq=1 object=code"});
  EXPECT_EQ(run({"hello worker=w devices=B200:80:sm_100"}),
            "send w welcome: heartbeat 5000 ms, lease 30000 ms\nsend w lease_batch: 1/1 a on B200, 2 blobs\n");
}

TEST_F(PrebuildTest, labels_and_backends_hold_for_builders_too) {
  run({"submit jobs=a device=cuda labels=lab", "submit jobs=b device=cuda backend=triton"});
  EXPECT_EQ(run({"hello worker=b builds_for=sm_90 credit=2 backends=torch"}),
            "send b welcome: heartbeat 5000 ms, lease 30000 ms\n");
  EXPECT_EQ(run({"advance ms=100", "hello worker=b2 builds_for=sm_90 credit=2 labels=lab"}),
            "send b2 welcome: heartbeat 5000 ms, lease 30000 ms\nsend b2 build_batch: 1/0 a on sm_90, 2 blobs; 2/0 b "
            "on sm_90, 2 blobs\n");
}

// The head of a lane is leased before its build would be complete.
TEST_F(PrebuildTest, the_last_of_the_next_jobs_is_built_first) {
  run({"start builds_ahead_max=3", "submit jobs=a,b,c,d device=cuda"});
  EXPECT_EQ(run({builder}),
            "send b welcome: heartbeat 5000 ms, lease 30000 ms\nsend b build_batch: 3/0 c on sm_90, 2 blobs; 2/0 b on "
            "sm_90, 2 blobs\n");
  EXPECT_EQ(run({"built worker=b seq=3 object=code"}),
            "send b result_ack: 3/0\nsend b build_batch: 1/0 a on sm_90, 2 blobs\n");
  run({"built worker=b seq=1 object=code", "built worker=b seq=2 object=code"});
  EXPECT_EQ(run({"advance ms=100"}), "") << "job 4 is not among the first three";
}

TEST_F(PrebuildTest, a_job_of_higher_priority_is_built_first) {
  run({"submit jobs=a device=cuda", "submit jobs=b device=cuda priority=high"});
  EXPECT_EQ(run({"hello worker=b builds_for=sm_90 credit=1"}),
            "send b welcome: heartbeat 5000 ms, lease 30000 ms\nsend b build_batch: 2/0 b on sm_90, 2 blobs\n");
}

TEST_F(PrebuildTest, a_failed_build_is_not_requested_again) {
  run({"submit jobs=a device=cuda", builder});
  EXPECT_EQ(run({"built worker=b seq=1 message=build_failed"}), kAck1);
  EXPECT_EQ(run({"advance ms=100"}), "");
  EXPECT_EQ(run({"hello worker=w devices=H200"}),
            "send w welcome: heartbeat 5000 ms, lease 30000 ms\nsend w lease_batch: 1/1 a on H200, 2 blobs\n")
      << "the worker that runs the job reports what is wrong with it";
}

TEST_F(PrebuildTest, an_artifact_with_a_wrong_hash_or_target_is_not_kept) {
  run({"submit jobs=a,b device=cuda", builder});
  EXPECT_EQ(run({"built worker=b seq=1 object=code hash=wrong"}), kAck1);
  run({"built worker=b seq=2 object=code for=cpu"});
  EXPECT_EQ(artifact_count(), 0u);
}

TEST_F(PrebuildTest, only_the_builder_of_a_job_may_send_its_result) {
  run({"submit jobs=a device=cuda", builder, "hello worker=thief builds_for=sm_90 credit=2"});
  EXPECT_EQ(run({"built worker=thief seq=1 object=evil"}), "send thief result_ack: 1/0\n");
  EXPECT_EQ(run({"built worker=nobody seq=1 object=evil"}), "send nobody result_ack: 1/0\nsend nobody unknown\n");
  EXPECT_EQ(run({"built worker=b epoch=2 seq=1 object=evil"}), "send b result_ack: 1/0\nsend b unknown\n");
  EXPECT_EQ(artifact_count(), 0u);
  run({"built worker=b seq=1 object=code"});
  EXPECT_EQ(artifact_count(), 1u);
}

TEST_F(PrebuildTest, a_job_whose_builder_fell_silent_is_not_offered_again) {
  run({"submit jobs=a device=cuda", builder, "advance ms=30000"});
  EXPECT_EQ(run({"hello worker=b2 builds_for=sm_90"}), "send b2 welcome: heartbeat 5000 ms, lease 30000 ms\n")
      << "the build may have killed its builder";
  EXPECT_EQ(run({"built worker=b seq=1 object=late"}), "send b result_ack: 1/0\nsend b unknown\n");
}

TEST_F(PrebuildTest, a_builder_that_leaves_returns_its_builds) {
  run({"submit jobs=a device=cuda", builder, "goodbye worker=b"});
  EXPECT_EQ(run({"advance ms=100", "hello worker=b2 builds_for=sm_90"}),
            "send b2 welcome: heartbeat 5000 ms, lease 30000 ms\nsend b2 build_batch: 1/0 a on sm_90, 2 blobs\n");
}

TEST_F(PrebuildTest, a_build_that_never_arrived_is_sent_again) {
  run({"submit jobs=a device=cuda", builder, "heartbeat worker=b", "advance ms=100"});
  EXPECT_EQ(run({"heartbeat worker=b", "advance ms=100"}), "send b build_batch: 1/0 a on sm_90, 2 blobs\n");
  run({"heartbeat worker=b leases=1/0", "heartbeat worker=b", "heartbeat worker=b leases=1/0", "heartbeat worker=b"});
  EXPECT_EQ(run({"advance ms=100"}), "") << "a heartbeat may have left before the build arrived";
}

TEST_F(PrebuildTest, heartbeats_do_not_prolong_a_build_for_ever) {
  run({"submit jobs=a device=cuda", builder});
  for (int i = 0; i < 89; ++i) EXPECT_EQ(run({"advance ms=10000", "heartbeat worker=b leases=1/0"}), "");
  EXPECT_EQ(run({"advance ms=10000"}), "send b revoke: 1/0\n");
}

TEST_F(PrebuildTest, there_are_never_more_artifacts_than_the_limit) {
  run({"start objects_max=2", "submit jobs=a,b,c,d device=cuda"});
  EXPECT_EQ(run({"hello worker=b builds_for=sm_90 credit=9"}),
            "send b welcome: heartbeat 5000 ms, lease 30000 ms\nsend b build_batch: 4/0 d on sm_90, 2 blobs; 3/0 c on "
            "sm_90, 2 blobs\n");
  EXPECT_EQ(run({"built worker=b seq=4 object=code", "built worker=b seq=3 object=code", "advance ms=100"}), "");
  EXPECT_EQ(run({"cancel seqs=4", "advance ms=100"}), "send b build_batch: 2/0 b on sm_90, 2 blobs\n");
}

TEST_F(PrebuildTest, nothing_is_built_while_the_queue_is_paused_the_builder_drains_or_the_disk_is_nearly_full) {
  const std::string welcome = "send b welcome: heartbeat 5000 ms, lease 30000 ms\n";
  run({"submit jobs=a device=cuda by=ada", "pause"});
  EXPECT_EQ(run({builder}), welcome);
  EXPECT_EQ(run({"pause of=ada", "resume", "advance ms=100"}), "");
  run({"goodbye worker=b", "resume of=ada", "drain name=b"});
  EXPECT_EQ(run({builder}), welcome);
  EXPECT_EQ(run({"disk full=1", "undrain name=b", "advance ms=100"}), "");
  EXPECT_EQ(run({"disk full=0"}), "send b build_batch: 1/0 a on sm_90, 2 blobs\n");
  EXPECT_EQ(run({"disk full=1", "built worker=b seq=1 object=code"}), kAck1);
  EXPECT_EQ(artifact_count(), 0u);
}

TEST_F(PrebuildTest, a_builder_has_no_devices_and_runs_no_jobs) {
  EXPECT_EQ(run({"hello worker=x devices=cpu builds_for=sm_90"}),
            "send x refused: \"a worker that builds for others has no devices of its own\"\n");
  EXPECT_EQ(run({"submit jobs=a", "hello worker=b builds_for=cpu", "status seqs=1"}),
            "send c status_reply: 1 queued no_worker\n");
  EXPECT_EQ(run({"broker"}), "send c broker_reply: 1 queued, 0 leased; b runs 1, built 0 for cpu\n");
}

TEST_F(PrebuildTest, an_undelivered_build_is_returned) {
  run({"submit jobs=a device=cuda", builder});
  EXPECT_EQ(run({"undelivered worker=b leases=1/0", "advance ms=100", "hello worker=b builds_for=sm_90"}),
            "send b welcome: heartbeat 5000 ms, lease 30000 ms\nsend b build_batch: 1/0 a on sm_90, 2 blobs\n");
}

// A build that the builder had may be the cause of its death.
TEST_F(PrebuildTest, builds_of_a_builder_that_was_found_gone_are_not_offered_again) {
  run({"submit jobs=a device=cuda", builder, "submit jobs=b device=cuda", "advance ms=100"});
  EXPECT_EQ(run({"undelivered worker=b leases=2/0", "advance ms=100", "hello worker=c builds_for=sm_90 credit=2"}),
            "send c welcome: heartbeat 5000 ms, lease 30000 ms\nsend c build_batch: 2/0 b on sm_90, 2 blobs\n");
}

}  // namespace
}  // namespace kq::broker
