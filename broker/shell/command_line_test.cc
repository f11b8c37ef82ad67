#include "broker/shell/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <initializer_list>
#include <vector>

namespace kq::broker {
namespace {

using testing::HasSubstr;

std::variant<CommandLine, EarlyEnd> parse(std::initializer_list<const char*> arguments) {
  std::vector<const char*> argv{"kq-broker"};
  argv.insert(argv.end(), arguments);
  return parse_command_line(static_cast<int>(argv.size()), argv.data());
}

class CommandLineTest : public testing::Test {
 protected:
  CommandLineTest() {
    unsetenv("KQ_BROKER");
    unsetenv("KQ_STORE");
    unsetenv("KQ_KEYS");
    unsetenv("KQ_FOLLOW");
    unsetenv("KQ_STANDBY_KEY");
  }
};

TEST_F(CommandLineTest, defaults) {
  const auto line = std::get<CommandLine>(parse({"--store", "s"}));
  EXPECT_EQ(line.bind, "tcp://127.0.0.1:5570");
  EXPECT_EQ(line.store_dir, "s");
  EXPECT_EQ(line.options.lease_ms, 30'000u);
  EXPECT_EQ(line.options.heartbeat_ms, 5'000u);
  EXPECT_EQ(line.ready_fd, std::nullopt);
}

TEST_F(CommandLineTest, a_flag_beats_the_environment_and_that_beats_the_default) {
  setenv("KQ_BROKER", "ipc:///env", 1);
  EXPECT_EQ(std::get<CommandLine>(parse({"--store", "s"})).bind, "ipc:///env");
  EXPECT_EQ(std::get<CommandLine>(parse({"--store", "s", "--bind", "ipc:///flag"})).bind, "ipc:///flag");
}

TEST_F(CommandLineTest, keys_come_from_the_flag_or_the_environment) {
  EXPECT_EQ(std::get<CommandLine>(parse({"--store", "s"})).key_folder, "");
  setenv("KQ_KEYS", "env", 1);
  EXPECT_EQ(std::get<CommandLine>(parse({"--store", "s"})).key_folder, "env");
  EXPECT_EQ(std::get<CommandLine>(parse({"--store", "s", "--keys", "flag"})).key_folder, "flag");
  EXPECT_EQ(std::get<CommandLine>(parse({"--store", "s", "--keys", ""})).key_folder, "");
}

TEST_F(CommandLineTest, leases_have_a_unit_and_bounds) {
  EXPECT_EQ(std::get<CommandLine>(parse({"--store", "s", "--lease", "1500ms"})).options.lease_ms, 1500u);
  EXPECT_EQ(std::get<CommandLine>(parse({"--store", "s", "--lease", "2m"})).options.lease_ms, 120'000u);
  for (const char* wrong : {"30", "30 s", "-1s", "2h", "1", "99ms", "61m", "99999999999999999999s"}) {
    const auto end = std::get<EarlyEnd>(parse({"--store", "s", "--lease", wrong}));
    EXPECT_EQ(end.code, ExitCode::bad_input);
    EXPECT_THAT(end.text, HasSubstr("a time from 100ms to 60m is needed"));
  }
  EXPECT_EQ(std::get<EarlyEnd>(parse({"--store", "s", "--lease", ""})).text,
            "kq-broker: --lease is empty; give it a value, or leave it out\n");
}

TEST_F(CommandLineTest, quotas_in_bytes_have_a_unit_and_bounds) {
  const auto options = [](const auto& line) { return std::get<CommandLine>(line).options; };
  EXPECT_EQ(options(parse({"--store", "s"})).unfinished_bytes_max, 100ull << 30);
  EXPECT_EQ(options(parse({"--store", "s", "--jobs-bytes-max", "2T"})).unfinished_bytes_max, 2ull << 40);
  EXPECT_EQ(options(parse({"--store", "s", "--submitter-bytes-max", "512MiB"})).submitter_bytes_max, 512ull << 20);
  EXPECT_EQ(options(parse({"--store", "s", "--submitter-bytes-max", "1024K"})).submitter_bytes_max, 1ull << 20);
  for (const char* wrong : {"100", "1023K", "1025T", "10 G", "5X", "G", "-1G", "1GB", "1iB", "99999999999999999999G"}) {
    const auto end = std::get<EarlyEnd>(parse({"--store", "s", "--jobs-bytes-max", wrong}));
    EXPECT_EQ(end.code, ExitCode::bad_input) << wrong;
    EXPECT_THAT(end.text, HasSubstr("--jobs-bytes-max: a size from 1M to 1024T is needed, such as 100G, got '"))
        << wrong;
  }
}

TEST_F(CommandLineTest, jobs_are_kept_for_ever_by_default) {
  const auto options = [](const auto& line) { return std::get<CommandLine>(line).options; };
  EXPECT_EQ(options(parse({"--store", "s"})).keep_ms, 0);
  EXPECT_EQ(options(parse({"--store", "s"})).keep_jobs, 0u);
  EXPECT_EQ(options(parse({"--store", "s", "--keep-for", "30d"})).keep_ms, 30ll * 86'400'000);
  EXPECT_EQ(options(parse({"--store", "s", "--keep-for", "36h"})).keep_ms, 36ll * 3'600'000);
  EXPECT_EQ(options(parse({"--store", "s", "--keep-jobs", "1000000"})).keep_jobs, 1'000'000u);
  for (const char* wrong : {"30", "999ms", "36501d", "1w", "-1d", "99999999999999999999d"}) {
    const auto end = std::get<EarlyEnd>(parse({"--store", "s", "--keep-for", wrong}));
    EXPECT_EQ(end.code, ExitCode::bad_input);
    EXPECT_THAT(end.text, HasSubstr("a time from 1s to 36500d is needed, such as 30d")) << wrong;
  }
  EXPECT_EQ(std::get<EarlyEnd>(parse({"--store", "s", "--keep-jobs", "0"})).code, ExitCode::bad_input);
}

TEST_F(CommandLineTest, metrics_are_off_by_default_and_local) {
  EXPECT_EQ(std::get<CommandLine>(parse({"--store", "s"})).metrics_port, std::nullopt);
  const auto line = std::get<CommandLine>(parse({"--store", "s", "--metrics-port", "9570"}));
  EXPECT_EQ(line.metrics_port, 9570);
  EXPECT_EQ(line.metrics_bind, "127.0.0.1");
  EXPECT_EQ(std::get<EarlyEnd>(parse({"--store", "s", "--metrics-port", "70000"})).code, ExitCode::bad_input);
  EXPECT_EQ(std::get<EarlyEnd>(parse({"--store", "s", "--metrics-bind", "0.0.0.0"})).code, ExitCode::bad_input);
}

TEST_F(CommandLineTest, every_mistake_is_bad_input) {
  for (const auto& end :
       {parse({}), parse({"--store", "s", "--colour"}), parse({"--store"}), parse({"--store", "s", "extra"}),
        parse({"--store", "s", "--ready-fd", "x"}), parse({"--store", "s", "--log-level", "loud"})}) {
    EXPECT_EQ(std::get<EarlyEnd>(end).code, ExitCode::bad_input);
    EXPECT_THAT(std::get<EarlyEnd>(end).text, HasSubstr("kq-broker --help lists the options"));
  }
}

TEST_F(CommandLineTest, help_and_version_are_not_mistakes) {
  EXPECT_EQ(std::get<EarlyEnd>(parse({"--help"})).code, ExitCode::ok);
  EXPECT_THAT(std::get<EarlyEnd>(parse({"--version"})).text, HasSubstr("kq-broker 0."));
}

TEST_F(CommandLineTest, a_standby_has_a_lease_and_bounds) {
  const auto standby = [](const auto& line) { return std::get<CommandLine>(line).standby; };
  EXPECT_FALSE(standby(parse({"--store", "s"})).is_used());
  const auto all = standby(parse({"--store", "s/", "--follow", "ipc:///o", "--lease-file", "l", "--takeover-after",
                                  "500ms", "--replicas", "1", "--alone-after", "5s"}));
  EXPECT_TRUE(all.is_used());
  EXPECT_EQ(all.takeover_ms, 500);
  EXPECT_EQ(all.replicas, 1);
  EXPECT_EQ(all.alone_after_ms, 5'000);
  EXPECT_EQ(all.store_dir, "s");
  EXPECT_EQ(all.url, "tcp://127.0.0.1:5570");
  const std::vector<std::vector<const char*>> wrong{{"--replicas", "2"},
                                                    {"--alone-after", "5s", "--replicas", "1"},
                                                    {"--lease-file", "l", "--takeover-after", "10ms"},
                                                    {"--lease-file", "l", "--alone-after", "5s"}};
  for (const std::vector<const char*>& more : wrong) {
    std::vector<const char*> words{"--store", "s"};
    words.insert(words.end(), more.begin(), more.end());
    words.insert(words.begin(), "kq-broker");
    const auto end = parse_command_line(static_cast<int>(words.size()), words.data());
    ASSERT_TRUE(std::holds_alternative<EarlyEnd>(end)) << more.front();
    EXPECT_EQ(std::get<EarlyEnd>(end).code, ExitCode::bad_input);
  }
}

}  // namespace
}  // namespace kq::broker
