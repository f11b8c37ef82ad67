#include "tools/ctl/share_verb.h"

#include <gtest/gtest.h>

#include "tools/ctl/scripted_world.h"

namespace kq::tools {
namespace {

TEST(ShareVerb, a_run_is_shared_and_taken_back) {
  ScriptedWorld kq;
  kq.on<ShareRun>([](const auto&) { return Done{}; });
  kq.on<RunsQuery>([](const auto&) {
    return RunsReply{.runs = {{.run = "monday", .submitter = "bob"}, {.run = "eve/a", .submitter = "web/eve"}}};
  });
  kq.on<RunQuery>([](const RunQuery& query) {
    RunReply reply;
    if (query.run == "nightly") reply.rows.emplace_back();
    return reply;
  });
  EXPECT_EQ(kq.run({"share", "nightli", "bob"}), 0);
  EXPECT_EQ(kq.out.str(), "run nightli is shared with bob; the run has no jobs yet: check its name\n");
  EXPECT_EQ(kq.run({"share", "nightly", "bob", "web/eve"}), 0);
  EXPECT_EQ(kq.out.str(), "run nightly is shared with bob, web/eve\n");
  EXPECT_EQ(kq.run({"share", "--undo", "nightly", "bob", "--json"}), 0);
  EXPECT_EQ(kq.out.str(), "{\"run\": \"nightly\", \"names\": [\"bob\"], \"shared\": false, \"unknown\": []}\n");
  EXPECT_EQ(kq.run({"share", "nightly", "bobb", "bob"}), 0);
  EXPECT_EQ(kq.out.str(),
            "run nightly is shared with bobb, bob; bobb has no run yet: check that this is the name of a key\n");
  const auto requests = kq.requests_of<ShareRun>();
  ASSERT_EQ(requests.size(), 4u);
  EXPECT_EQ(requests[1].names, (std::vector<std::string>{"bob", "web/eve"}));
  EXPECT_TRUE(requests[1].shared);
  EXPECT_FALSE(requests[2].shared);
  EXPECT_EQ(kq.run({"share", "nightly"}), 2);
}

TEST(ShareVerb, a_refusal_is_bad_input) {
  ScriptedWorld kq;
  kq.on<ShareRun>([](const auto&) { return Refused{"run 'nightly' belongs to ada"}; });
  EXPECT_EQ(kq.run({"share", "nightly", "bob"}), 2);
}

}  // namespace
}  // namespace kq::tools
