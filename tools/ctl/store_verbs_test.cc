#include "tools/ctl/store_verbs.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "tools/ctl/scripted_world.h"

namespace kq::tools {
namespace {

TEST(store_verbs, a_backup_asks_first_whether_a_broker_is_there) {
  ScriptedWorld kq;
  kq.on<BrokerQuery>([](const auto&) { return Refused{"the broker has no store"}; });
  EXPECT_EQ(kq.run({"backup", "/safe/monday"}), 2);
  EXPECT_EQ(kq.err.str(), "kq-ctl backup: the broker has no store\n");
}

TEST(store_verbs, a_backup_is_requested_with_an_absolute_path) {
  ScriptedWorld kq;
  kq.on<BrokerQuery>([](const auto&) { return BrokerReply{}; });
  kq.on<Backup>([](const Backup& backup) {
    return backup.dir == "/full" ? ClientReply(Refused{"/full: not empty"}) : ClientReply(Done{});
  });
  EXPECT_EQ(kq.run({"backup", "/safe/monday"}), 0);
  EXPECT_EQ(kq.out.str(), "the store is copied to /safe/monday\n");
  EXPECT_EQ(kq.run({"backup", "tuesday", "--json"}), 0);
  EXPECT_EQ(kq.requests_of<Backup>().at(1).dir, (std::filesystem::current_path() / "tuesday").string());
  EXPECT_EQ(kq.run({"backup", "/safe/new/"}), 0);
  EXPECT_EQ(kq.requests_of<Backup>().at(2).dir, "/safe/new");
  EXPECT_EQ(kq.run({"backup", "/full"}), 2);
  EXPECT_EQ(kq.err.str(), "kq-ctl backup: /full: not empty\n");
}

TEST(store_verbs, verify_prints_every_problem_and_one_line_of_counts) {
  ScriptedWorld kq;
  store::Verified found{.queued_count = 1,
                        .leased_count = 2,
                        .finished_count = 3,
                        .result_count = 3,
                        .blob_count = 4,
                        .blob_bytes = 2048,
                        .label_count = 6,
                        .board_row_count = 1};
  kq.world.verify = [&](const std::string& dir, const ReportProblem& report) -> Expected<store::Verified> {
    if (dir != "/s") return bad_input("store at " + dir + ": there is none");
    if (found.problem_count > 0) report("job 7: has no body");
    return found;
  };
  EXPECT_EQ(kq.run({"verify", "--store", "/s"}), 0);
  EXPECT_EQ(kq.out.str(),
            "store at /s: 1 job queued, 2 leased, 3 finished, 4 files of 2.00 KiB, 1 board row; no problems\n");
  found.problem_count = 1;
  EXPECT_EQ(kq.run({"verify", "--store", "/s"}), 3);
  EXPECT_EQ(kq.out.str(),
            "problem\njob 7: has no body\nstore at /s: 1 job queued, 2 leased, 3 finished, 4 files of 2.00 KiB, 1 "
            "board row; 1 problem\n");
  EXPECT_EQ(kq.run({"verify", "--store", "/s", "--json"}), 3);
  EXPECT_TRUE(kq.out.str().starts_with("{\"problems\": [\n{\"problem\": \"job 7: has no body\"}\n], \"queued\": 1, "))
      << kq.out.str();
  EXPECT_EQ(kq.run({"verify", "--store", "/other"}), 2);
  EXPECT_EQ(kq.run({"verify"}), 2);
  EXPECT_EQ(kq.err.str(), "kq-ctl verify: --store DIR is needed, the store to verify\n");
}

TEST(store_verbs, restore_makes_a_store_or_prints_the_problems_of_the_backup) {
  ScriptedWorld kq;
  kq.world.restore = [&](const std::string& from, const std::string& dir,
                         const ReportProblem& report) -> Expected<store::Verified> {
    EXPECT_EQ(dir, "/new");
    if (from == "/sound") return store::Verified{.finished_count = 3};
    report("blob ab: is not what its name says");
    return our_fault("store at /broken has 1 problems; nothing was restored");
  };
  EXPECT_EQ(kq.run({"restore", "/sound", "--store", "/new"}), 0);
  EXPECT_EQ(kq.out.str(),
            "store at /new: 0 jobs queued, 0 leased, 3 finished, 0 files of 0 B, 0 board rows; no problems\n");
  EXPECT_EQ(kq.run({"restore", "/broken", "--store", "/new"}), 3);
  EXPECT_EQ(kq.out.str(), "problem\nblob ab: is not what its name says\n");
  EXPECT_EQ(kq.err.str(), "kq-ctl restore: store at /broken has 1 problems; nothing was restored\n");
  EXPECT_EQ(kq.run({"restore", "/sound"}), 2);
}

}  // namespace
}  // namespace kq::tools
