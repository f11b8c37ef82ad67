#include "tools/ctl/overview_verbs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/ctl/scripted_world.h"

namespace kq::tools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(overview_verbs, the_status_says_whether_the_broker_has_keys) {
  ScriptedWorld kq;
  BrokerReply status{.version = "1.2", .queued = 1, .leased = 3, .workers = {{.worker = "n1:7", .devices = {}}}};
  StatsReply stats;
  kq.on<BrokerQuery>([&](const auto&) { return status; });
  kq.on<StatsQuery>([&](const auto&) { return stats; });
  EXPECT_EQ(kq.run({"status"}), 0);
  EXPECT_EQ(kq.out.str(),
            "broker ipc:///tmp/kq.sock of kq 1.2: 1 job queued, 3 running, 1 worker\n"
            "without keys: every client may read every source and change every run\n");
  status.has_keys = true;
  EXPECT_EQ(kq.run({"status", "--json"}), 0);
  EXPECT_NE(kq.out.str().find("\"has_keys\": true"), std::string::npos);
  EXPECT_NE(kq.out.str().find("\"paused\": false, \"draining_workers\": 0, \"paused_submitters\": 0, "
                              "\"paused_submitter_names\": []"),
            std::string::npos);
  stats.metrics = {{"kq_queue_paused", {}, 1}, {"kq_submitters_paused", {}, 2}};
  EXPECT_EQ(kq.run({"status"}), 0);
  EXPECT_NE(kq.out.str().find("the queue is paused; kq-ctl resume ends the pause\n2 submitters are paused; "),
            std::string::npos);
}

TEST(overview_verbs, the_status_of_a_state_folder) {
  ScriptedWorld kq;
  kq.on<BrokerQuery>([](const auto&) { return BrokerReply{}; });
  kq.on<StatsQuery>([](const auto&) { return StatsReply{}; });
  EXPECT_EQ(kq.run({"status", "--state", "mine"}), 0);
  EXPECT_EQ(kq.states, std::vector<std::string>{"mine"});
}

TEST(overview_verbs, the_status_names_paused_submitters) {
  ScriptedWorld kq;
  kq.on<BrokerQuery>([](const auto&) { return BrokerReply{.version = "1.2", .workers = {}}; });
  StatsReply stats{{{"kq_submitters_paused", {}, 1}, {"kq_submitter_paused", {{"submitter", "ghost"}}, 1}}};
  kq.on<StatsQuery>([&](const auto&) { return stats; });
  EXPECT_EQ(kq.run({"status"}), 0);
  EXPECT_THAT(kq.out.str(), HasSubstr("1 submitter is paused: ghost; kq-ctl resume --submitter NAME ends a pause\n"));
  stats.metrics.front().value = 3;
  EXPECT_EQ(kq.run({"status"}), 0);
  EXPECT_THAT(kq.out.str(), HasSubstr("3 submitters are paused: ghost and 2 more; "));
  EXPECT_EQ(kq.run({"status", "--json"}), 0);
  EXPECT_THAT(kq.out.str(), HasSubstr(R"("paused_submitters": 3, "paused_submitter_names": ["ghost"])"));
}

TEST(overview_verbs, the_status_says_when_every_worker_is_draining) {
  ScriptedWorld kq;
  BrokerReply status{.version = "1.2",
                     .workers = {{.worker = "n1", .devices = {}}, {.worker = "n2", .devices = {}, .draining = true}}};
  kq.on<BrokerQuery>([&](const auto&) { return status; });
  kq.on<StatsQuery>([](const auto&) { return StatsReply{}; });
  EXPECT_EQ(kq.run({"status"}), 0);
  EXPECT_THAT(kq.out.str(), Not(HasSubstr("draining")));
  status.workers.front().draining = true;
  EXPECT_EQ(kq.run({"status"}), 0);
  EXPECT_THAT(kq.out.str(), HasSubstr("every worker is draining, so no job starts"));
}

TEST(overview_verbs, stats_are_a_table_with_units_and_json_without) {
  ScriptedWorld kq;
  kq.on<StatsQuery>([](const auto&) {
    return StatsReply{{{"kq_queue_jobs", {{"state", "queued"}}, 12},
                       {"kq_queue_oldest_age_seconds", {}, 190},
                       {"kq_queue_bytes", {}, 1536},
                       {"kq_job_wait_seconds_bucket", {{"le", "0.1"}}, 3},
                       {"kq_ratio", {}, 0.25}}};
  });
  EXPECT_EQ(kq.run({"stats"}), 0);
  EXPECT_EQ(kq.out.str(),
            "figure                       of               value\n"
            "kq_queue_jobs                state=queued        12\n"
            "kq_queue_oldest_age_seconds                   3 min\n"
            "kq_queue_bytes                             1.50 KiB\n"
            "kq_ratio                                       0.25\n");
  EXPECT_EQ(kq.run({"stats", "--json"}), 0);
  EXPECT_TRUE(kq.out.str().starts_with(
      "{\"metrics\": [\n{\"name\": \"kq_queue_jobs\", \"labels\": {\"state\": \"queued\"}, \"value\": 12.0},\n"))
      << kq.out.str();
  EXPECT_NE(kq.out.str().find("kq_job_wait_seconds_bucket"), std::string::npos);
}

TEST(overview_verbs, the_queue_is_printed_by_lane_in_the_order_of_the_broker) {
  ScriptedWorld kq;
  kq.on<QueueQuery>([&](const auto&) {
    QueueReply reply{.lanes = {}, .waiting = 1};
    Requirements gpu{.gpu_model = "NVIDIA H200", .backend = Backend::triton, .labels = {"big"}};
    reply.lanes.push_back({.needs = gpu,
                           .priority = Priority::high,
                           .submitter = "ann",
                           .queued = 3,
                           .oldest_ms = kq.unix_now_ms - 7'200'000});
    reply.lanes.push_back({.needs = {},
                           .priority = Priority::low,
                           .submitter = "",
                           .queued = 1,
                           .oldest_ms = kq.unix_now_ms - 5'000,
                           .served = true});
    return reply;
  });
  EXPECT_EQ(kq.run({"queue"}), 0);
  EXPECT_EQ(kq.out.str(),
            "priority  submitter  needs                                     backend  queued  oldest  state\n"
            "high      ann        a worker labelled big with a NVIDIA H200  triton        3     2 h  no worker\n"
            "low       -          any device                                torch         1     5 s  served\n"
            "4 jobs in 2 lanes; 1 job waits for a later time\n");
}

TEST(overview_verbs, a_queue_of_many_lanes_is_read_page_by_page) {
  ScriptedWorld kq;
  kq.on<QueueQuery>([&](const QueueQuery& query) {
    QueueReply reply{.lanes = {}, .more = query.skip < 512};
    for (std::uint32_t i = query.skip; i < std::min(query.skip + query.limit, 600u); ++i) {
      reply.lanes.push_back(
          {.needs = {}, .submitter = "s" + std::to_string(i), .queued = 1, .oldest_ms = kq.unix_now_ms});
    }
    return reply;
  });
  EXPECT_EQ(kq.run({"queue"}), 0);
  EXPECT_TRUE(kq.out.str().ends_with("600 jobs in 600 lanes\n"));
  EXPECT_NE(kq.out.str().find("s599"), std::string::npos);
}

TEST(overview_verbs, workers_are_listed_with_devices_and_labels_and_none_is_exit_code_5) {
  ScriptedWorld kq;
  BrokerReply status;
  kq.on<BrokerQuery>([&](const auto&) { return status; });
  EXPECT_EQ(kq.run({"workers"}), 5);
  EXPECT_EQ(kq.err.str(), "kq-ctl workers: no worker is connected to broker ipc:///tmp/kq.sock\n");
  EXPECT_EQ(kq.run({"workers", "--json"}), 5);
  EXPECT_EQ(kq.out.str(), "{\"workers\": []}\n");

  const DeviceInfo gpu{
      .kind = DeviceKind::cuda, .model = "NVIDIA H200", .uuid = "u", .arch = "sm_90", .memory_bytes = 1};
  status.workers = {{.worker = "n1:7",
                     .devices = {gpu, gpu},
                     .running = 2,
                     .last_seen_ms = kq.unix_now_ms - 1'000,
                     .labels = {"big", "lab"},
                     .backends = {Backend::torch, Backend::cuda}},
                    {.worker = "n2:8", .devices = {{}}, .last_seen_ms = kq.unix_now_ms, .draining = true}};
  EXPECT_EQ(kq.run({"workers"}), 0);
  EXPECT_EQ(kq.out.str(),
            "worker  state     running  devices          backends     labels      heard\n"
            "n1:7    busy            2  2 x NVIDIA H200  torch, cuda  big, lab  1 s ago\n"
            "n2:8    draining        0  cpu              all          -         0 s ago\n");
}

TEST(overview_verbs, builds_in_progress_are_listed_with_the_duration_of_the_longest) {
  ScriptedWorld kq;
  BrokerReply status;
  status.workers = {{.worker = "n1:7",
                     .devices = {{}},
                     .running = 3,
                     .last_seen_ms = kq.unix_now_ms,
                     .building = 2,
                     .build_started_ms = kq.unix_now_ms - 42'000}};
  kq.on<BrokerQuery>([&](const auto&) { return status; });
  EXPECT_EQ(kq.run({"workers"}), 0);
  EXPECT_NE(kq.out.str().find("n1:7    busy, 2 builds for 42 s        3  cpu"), std::string::npos) << kq.out.str();
  EXPECT_EQ(kq.run({"workers", "--json"}), 0);
  EXPECT_NE(kq.out.str().find("\"building\": 2"), std::string::npos) << kq.out.str();
}

TEST(overview_verbs, a_quarantined_device_is_listed_with_its_reason) {
  ScriptedWorld kq;
  const DeviceInfo gpu{
      .kind = DeviceKind::cuda, .model = "NVIDIA H200", .uuid = "u", .arch = "sm_90", .memory_bytes = 1};
  BrokerReply status;
  status.workers = {
      {.worker = "n1:7", .devices = {gpu}, .last_seen_ms = kq.unix_now_ms, .quarantined = {"GPU-1: Xid 79"}},
      {.worker = "n2:8", .devices = {}, .last_seen_ms = kq.unix_now_ms, .quarantined = {"cpu: 2 processes are left"}}};
  kq.on<BrokerQuery>([&](const auto&) { return status; });
  EXPECT_EQ(kq.run({"workers"}), 0);
  EXPECT_EQ(kq.out.str(),
            "worker  state        running  devices                                  backends  labels    heard\n"
            "n1:7    idle               0  NVIDIA H200; quarantined: GPU-1: Xid 79  all       -       0 s ago\n"
            "n2:8    quarantined        0  quarantined: cpu: 2 processes are left   all       -       0 s ago\n");
  EXPECT_EQ(kq.run({"workers", "--json"}), 0);
  EXPECT_NE(kq.out.str().find("\"quarantined\": [\"GPU-1: Xid 79\"]"), std::string::npos) << kq.out.str();
}

TEST(overview_verbs, a_worker_that_only_builds_is_listed_with_its_targets_and_count) {
  ScriptedWorld kq;
  const DeviceInfo gpu{.kind = DeviceKind::cuda, .model = {}, .uuid = {}, .arch = "sm_90"};
  BrokerReply status;
  status.workers = {{.worker = "n1:7",
                     .devices = {},
                     .running = 2,
                     .last_seen_ms = kq.unix_now_ms,
                     .builds_for = {gpu, {}},
                     .built_count = 17}};
  kq.on<BrokerQuery>([&](const auto&) { return status; });
  EXPECT_EQ(kq.run({"workers"}), 0);
  EXPECT_NE(kq.out.str().find("n1:7    busy         2  builds for sm_90, cpu"), std::string::npos) << kq.out.str();
  EXPECT_EQ(kq.run({"workers", "--json"}), 0);
  EXPECT_NE(kq.out.str().find("\"builds_for\": [\"sm_90\", \"cpu\"]"), std::string::npos) << kq.out.str();
  EXPECT_NE(kq.out.str().find("\"built\": 17"), std::string::npos) << kq.out.str();
}

TEST(overview_verbs, a_refusal_is_printed_with_the_reason_of_the_broker) {
  ScriptedWorld kq;
  kq.on<StatsQuery>([](const auto&) { return Refused{"the role submit may not ask this"}; });
  EXPECT_EQ(kq.run({"stats"}), 2);
  EXPECT_EQ(kq.err.str(), "kq-ctl stats: the role submit may not ask this\n");
}

}  // namespace
}  // namespace kq::tools
