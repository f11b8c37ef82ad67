#include "tools/stack/state_broker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tools/stack/fake_programs.h"

namespace kq::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kBroker = R"(
trap 'echo ended >>"$(dirname "$0")/order"; exit 0' TERM
while [ $# -gt 0 ]; do [ "$1" = --ready-fd ] && eval "echo ready >&$2"; shift; done
while :; do sleep 0.01; done
)";

class StateBrokerTest : public ::testing::Test {
 protected:
  StateBrokerTest() { folder_.write_program("bin/kq-broker", kBroker); }
  StateBroker broker() {
    return StateBroker(folder_.file("bin"), sleep_uninterrupted,
                       [this](const std::string& sentence) { said_.push_back(sentence); });
  }

  TestFolder folder_;
  std::vector<std::string> said_;
};

TEST_F(StateBrokerTest, a_broker_is_started_once_and_stopped_at_the_end) {
  folder_.write("state/store/CURRENT", "");
  {
    StateBroker made = broker();
    const auto client = made.connect(folder_.file("state"), "no-such.key");
    ASSERT_TRUE(client) << client.error().message;
    EXPECT_THAT(client->url(), HasSubstr("ipc://"));
    EXPECT_TRUE(made.connect(folder_.file("state"), ""));
    EXPECT_TRUE(holder_of(folder_.file("state")));
  }
  EXPECT_THAT(said_, ElementsAre(HasSubstr("no broker runs; started one in ")));
  EXPECT_EQ(content_of(folder_.file("bin/order")), "ended\n");
  EXPECT_FALSE(holder_of(folder_.file("state")));
}

TEST_F(StateBrokerTest, the_broker_that_holds_the_folder_is_used) {
  auto folder = StateFolder::take(folder_.file("state"));
  ASSERT_TRUE(folder);
  folder->write({.pid = 1, .url = "ipc:///tmp/kq-other.sock", .children = {}});
  StateBroker made = broker();
  const auto client = made.connect(folder_.file("state"), "no-such.key");
  ASSERT_TRUE(client) << client.error().message;
  EXPECT_EQ(client->url(), "ipc:///tmp/kq-other.sock");
  EXPECT_TRUE(said_.empty());
}

TEST_F(StateBrokerTest, the_store_of_a_state_folder_stands_for_the_folder) {
  folder_.write("state/store/CURRENT", "");
  folder_.write("other/CURRENT", "");
  StateBroker made = broker();
  for (const char* name : {"state/store", "state/store/"}) {
    const auto client = made.connect(folder_.file(name), "");
    ASSERT_TRUE(client) << client.error().message;
  }
  EXPECT_TRUE(holder_of(folder_.file("state")));
  StateBroker none = broker();
  EXPECT_THAT(none.connect(folder_.file("other"), "").error().message,
              HasSubstr("is a store outside of a state folder"));
}

TEST_F(StateBrokerTest, a_folder_without_a_store_is_an_error) {
  StateBroker made = broker();
  const auto client = made.connect(folder_.file("state"), "");
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().kind, ErrorKind::not_found);
  EXPECT_THAT(client.error().message, HasSubstr("has no store"));
  EXPECT_FALSE(std::filesystem::exists(folder_.file("state")));
}

}  // namespace
}  // namespace kq::tools
