// The programs in these tests are scripts that do the two things which a stack expects: they write a line to --ready-fd
// and end on SIGTERM.
#include "tools/stack/stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tools/stack/fake_programs.h"

namespace kq::tools {
namespace {

using ::testing::HasSubstr;

// Runs until SIGTERM, logs its arguments, and appends its name to the file `order` when it ends.
constexpr const char* kGood = R"(
me=$(basename "$0")
echo "$me started with $*"
trap 'echo "$me ends" >>"$(dirname "$0")/order"; exit 0' TERM
while [ $# -gt 0 ]; do [ "$1" = --ready-fd ] && eval "echo ready >&$2"; shift; done
while :; do sleep 0.01; done
)";

class StackTest : public ::testing::Test {
 protected:
  StackTest() {
    folder_.write_program("bin/kq-broker", kGood);
    folder_.write_program("bin/kq-worker", kGood);
  }

  Expected<std::unique_ptr<Stack>> start(std::int64_t limit_ms = 60'000) {
    return with_worker(Stack::start({.state_folder = folder_.file("state"),
                                     .broker_url = "",
                                     .devices = "cpu",
                                     .programs = folder_.file("bin"),
                                     .start_limit_ms = limit_ms},
                                    sleep_uninterrupted));
  }
  static Expected<std::unique_ptr<Stack>> with_worker(Expected<std::unique_ptr<Stack>> stack) {
    if (!stack) return stack;
    if (const auto started = (*stack)->start_worker(sleep_uninterrupted); !started) return failure(started.error());
    return stack;
  }
  std::string log(const std::string& name) const { return content_of(folder_.file("state/" + name + ".log")); }
  std::vector<pid_t> children() const { return holder_of(folder_.file("state")).value_or(StackRecord{}).children; }

  TestFolder folder_;
};

TEST_F(StackTest, a_gateway_starts_last_and_ends_first) {
  folder_.write_program("bin/kq-gateway", kGood);
  auto stack = with_worker(Stack::start({.state_folder = folder_.file("state"),
                                         .broker_url = "",
                                         .gateway = "127.0.0.1:8000",
                                         .gateway_tokens = "tokens",
                                         .gateway_operators = "operators",
                                         .gateway_popcorn = "problems",
                                         .programs = folder_.file("bin")},
                                        sleep_uninterrupted));
  ASSERT_TRUE(stack) << stack.error().message;
  ASSERT_TRUE((*stack)->start_gateway(sleep_uninterrupted));
  EXPECT_THAT(log("gateway"), HasSubstr("--broker " + (*stack)->broker_url() + " --listen 127.0.0.1:8000"));
  EXPECT_THAT(log("gateway"), HasSubstr("--tokens tokens --operators operators"));
  EXPECT_THAT(log("gateway"), HasSubstr("--popcorn problems"));
  EXPECT_EQ(children().size(), 3u);
  (*stack)->stop(sleep_uninterrupted);
  EXPECT_EQ(content_of(folder_.file("bin/order")), "kq-gateway ends\nkq-worker ends\nkq-broker ends\n");
}

TEST_F(StackTest, starts_both_programs_with_one_private_url) {
  const auto stack = start();
  ASSERT_TRUE(stack) << stack.error().message;
  const std::string url = (*stack)->broker_url();
  EXPECT_THAT(url, HasSubstr("ipc://"));
  EXPECT_THAT(log("broker"), HasSubstr("--bind " + url + " --store "));
  EXPECT_THAT(log("worker"), HasSubstr("--connect " + url + " --state "));
  EXPECT_THAT(log("worker"), HasSubstr("--devices cpu"));
  EXPECT_EQ(holder_of(folder_.file("state"))->url, url);
}

TEST_F(StackTest, the_broker_serves_metrics_where_a_port_is_given) {
  const auto stack = with_worker(Stack::start({.state_folder = folder_.file("measured"),
                                               .broker_url = "",
                                               .metrics_port = 9570,
                                               .programs = folder_.file("bin")},
                                              sleep_uninterrupted));
  ASSERT_TRUE(stack) << stack.error().message;
  EXPECT_THAT(content_of((*stack)->folder().file("broker.log")), HasSubstr(" --metrics-port 9570"));
}

TEST_F(StackTest, keys_are_passed_to_both_programs_and_not_taken_from_the_environment) {
  for (const auto& [keys, key] : {std::pair{"/keys", "/w.key"}, {"", ""}}) {
    const auto stack = with_worker(Stack::start({.state_folder = folder_.file("state" + std::string(keys)),
                                                 .broker_url = "",
                                                 .key_folder = keys,
                                                 .worker_key = key,
                                                 .programs = folder_.file("bin")},
                                                sleep_uninterrupted));
    ASSERT_TRUE(stack) << stack.error().message;
    const StateFolder& state = (*stack)->folder();
    EXPECT_THAT(content_of(state.file("broker.log")), HasSubstr(" --keys " + std::string(keys) + " "));
    EXPECT_THAT(content_of(state.file("worker.log")), HasSubstr(" --key " + std::string(key) + " "));
  }
}

TEST_F(StackTest, the_worker_starts_once_and_only_on_request) {
  auto stack = Stack::start({.state_folder = folder_.file("state"), .broker_url = "", .programs = folder_.file("bin")},
                            sleep_uninterrupted);
  ASSERT_TRUE(stack) << stack.error().message;
  EXPECT_EQ(children().size(), 1u);
  EXPECT_EQ((*stack)->restart_ended().value(), std::nullopt);
  ASSERT_TRUE((*stack)->start_worker(sleep_uninterrupted));
  const std::vector<pid_t> both = children();
  EXPECT_EQ(both.size(), 2u);
  ASSERT_TRUE((*stack)->start_worker(sleep_uninterrupted));
  EXPECT_EQ(children(), both);
}

TEST_F(StackTest, stops_the_worker_first_and_leaves_no_process) {
  auto stack = start();
  ASSERT_TRUE(stack);
  const std::vector<pid_t> pids = children();
  ASSERT_EQ(pids.size(), 2u);
  (*stack)->stop(sleep_uninterrupted);
  EXPECT_EQ(content_of(folder_.file("bin/order")), "kq-worker ends\nkq-broker ends\n");
  for (pid_t pid : pids) EXPECT_EQ(::kill(pid, 0), -1);
}

TEST_F(StackTest, the_destructor_kills_both_programs) {
  std::vector<pid_t> pids;
  {
    const auto stack = start();
    pids = children();
  }
  ASSERT_EQ(pids.size(), 2u);
  for (pid_t pid : pids) EXPECT_EQ(::kill(pid, 0), -1);
  EXPECT_EQ(holder_of(folder_.file("state")), std::nullopt);
}

TEST_F(StackTest, the_error_about_a_worker_that_cannot_start_has_the_tail_of_its_log) {
  folder_.write_program("bin/kq-worker", "echo 'no GPU here: libcuda.so.1 is missing'; exit 3\n");
  const auto stack = start();
  ASSERT_FALSE(stack);
  EXPECT_THAT(stack.error().message, HasSubstr("kq-worker did not start (exit code 3)"));
  EXPECT_THAT(stack.error().message, HasSubstr("no GPU here: libcuda.so.1 is missing"));
  EXPECT_EQ(holder_of(folder_.file("state")), std::nullopt);
}

TEST_F(StackTest, a_worker_that_is_never_ready_is_an_error) {
  folder_.write_program("bin/kq-worker", "echo thinking; exec sleep 60\n");
  const auto stack = start(3'000);  // within which the broker must be ready
  ASSERT_FALSE(stack);
  EXPECT_THAT(stack.error().message, HasSubstr("kq-worker was not ready after 3 s"));
  EXPECT_THAT(stack.error().message, HasSubstr("thinking"));
}

TEST_F(StackTest, a_program_that_is_missing_is_named) {
  std::filesystem::remove(folder_.file("bin/kq-broker"));
  const auto stack = start();
  ASSERT_FALSE(stack);
  EXPECT_THAT(stack.error().message, HasSubstr("bin/kq-broker: No such file"));
}

TEST_F(StackTest, a_killed_program_is_restarted) {
  auto stack = start();
  ASSERT_TRUE(stack);
  EXPECT_EQ((*stack)->restart_ended().value(), std::nullopt);
  const pid_t worker = children()[1];
  ::kill(worker, SIGKILL);
  std::optional<std::string> note;
  ASSERT_TRUE(wait_until([&] { return (note = (*stack)->restart_ended().value()).has_value(); }));
  EXPECT_THAT(*note,
              HasSubstr("kq-worker ended by itself (signal 9 (Killed)) and was restarted, 1 of at most 5 times"));
  EXPECT_NE(children()[1], worker);
}

TEST_F(StackTest, a_program_that_ends_again_and_again_is_an_error) {
  auto stack = start();
  ASSERT_TRUE(stack);
  folder_.write_program("bin/kq-broker", "echo 'the store is damaged'; exit 3\n");
  ::kill(children()[0], SIGKILL);
  std::optional<Error> error;
  ASSERT_TRUE(wait_until([&] {
    const auto note = (*stack)->restart_ended();
    if (!note) error = note.error();
    return error.has_value();
  }));
  EXPECT_THAT(error->message, HasSubstr("kq-broker ended by itself (exit code 3) after 5 restarts"));
  EXPECT_THAT(error->message, HasSubstr("the store is damaged"));
}

TEST_F(StackTest, two_stacks_do_not_share_a_state_folder) {
  const auto first = start();
  ASSERT_TRUE(first);
  const auto second = start();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::bad_input);
}

}  // namespace
}  // namespace kq::tools
