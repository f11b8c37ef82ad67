#include "tools/ctl/lease_verbs.h"

#include <gtest/gtest.h>

#include "tools/ctl/scripted_world.h"

namespace kq::tools {
namespace {

class CtlSteering : public testing::Test {
 protected:
  void SetUp() override {
    kq.on<Pause>([](const auto&) { return Done{}; });
    kq.on<Drain>([](const auto&) { return Done{}; });
    kq.on<BrokerQuery>([this](const auto&) {
      if (busy_n > 0) --busy_n;
      BrokerReply reply;
      reply.workers = {{.worker = "n1:7", .devices = {}, .running = busy_n}};
      return reply;
    });
  }
  ScriptedWorld kq;
  std::uint32_t busy_n = 4;
};

TEST_F(CtlSteering, pauses_everybody_or_one) {
  EXPECT_EQ(kq.run({"pause", "--submitter", ""}), 2) << "which would be everybody";
  EXPECT_EQ(kq.run({"pause"}), 0);
  EXPECT_EQ(kq.out.str(), "the queue is paused: nothing more is leased, what runs goes on\n");
  EXPECT_EQ(kq.run({"resume", "--submitter", "ann", "--json"}), 0);
  EXPECT_EQ(kq.out.str(), "{\"submitter\": \"ann\", \"paused\": false}\n");
  const auto asked = kq.asked<Pause>();
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].submitter, "");
  EXPECT_TRUE(asked[0].paused);
  EXPECT_EQ(asked[1].submitter, "ann");
  EXPECT_FALSE(asked[1].paused);
}

TEST_F(CtlSteering, drains_and_waits_until_nothing_is_left) {
  EXPECT_EQ(kq.run({"drain", "n1:7", "--wait"}), 0);
  EXPECT_EQ(kq.out.str(), "worker n1:7 gets nothing new and has nothing left\n");
  EXPECT_TRUE(kq.asked<Drain>().at(0).draining);
  EXPECT_EQ(kq.asked<BrokerQuery>().size(), 4u);
}

TEST_F(CtlSteering, gives_up_waiting_and_says_what_is_left) {
  busy_n = 100;
  EXPECT_EQ(kq.run({"drain", "n1:7", "--wait", "--timeout", "2"}), 4);
  EXPECT_EQ(kq.err.str(), "kq-ctl drain: worker n1:7 still has 94 jobs; it goes on draining\n");
}

TEST_F(CtlSteering, a_drain_is_undone_even_if_the_worker_is_gone) {
  EXPECT_EQ(kq.run({"drain", "n9:9"}), 5);
  EXPECT_EQ(kq.err.str(), "kq-ctl drain: no worker 'n9:9' is connected; kq-ctl workers lists them\n");
  EXPECT_TRUE(kq.asked<Drain>().empty());
  EXPECT_EQ(kq.run({"drain", "n9:9", "--undo"}), 0);
  EXPECT_FALSE(kq.asked<Drain>().at(0).draining);
  EXPECT_EQ(kq.run({"drain", "n1:7", "--undo", "--wait"}), 2);
}

}  // namespace
}  // namespace kq::tools
