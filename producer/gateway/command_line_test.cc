#include "producer/gateway/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

namespace kq::gateway {
namespace {

using testing::HasSubstr;

class GatewayCommandLine : public testing::Test {
 protected:
  GatewayCommandLine() { clear(); }
  ~GatewayCommandLine() override { clear(); }

  static void clear() {
    for (const char* name : {"HOST", "PORT", "LOG_LEVEL", "MAX_WORKERS", "GPU_DEVICE", "GPU_TYPE",
                             "ENABLE_DEVICE_METRICS", "KQ_BROKER", "KQ_KEY", "KQ_TOKENS"})
      ::unsetenv(name);
  }
  static auto parse(std::vector<const char*> words) {
    words.insert(words.begin(), "kq-gateway");
    return parse_command_line(static_cast<int>(words.size()), words.data());
  }
  static ServeCommand serve(std::vector<const char*> words) {
    const auto parsed = parse(std::move(words));
    const auto* end = std::get_if<EarlyEnd>(&parsed);
    EXPECT_EQ(end, nullptr) << end->text;
    return std::get<ServeCommand>(parsed);
  }
  static std::string mistake(std::vector<const char*> words) {
    const auto parsed = parse(std::move(words));
    const auto* end = std::get_if<EarlyEnd>(&parsed);
    return end != nullptr && end->code == ExitCode::bad_input ? end->text : "no mistake";
  }
};

TEST_F(GatewayCommandLine, the_default_is_this_machine) {
  const ServeCommand line = serve({});
  EXPECT_EQ(line.host, "127.0.0.1");
  EXPECT_EQ(line.port, 8000);
  EXPECT_TRUE(line.is_loopback);
  EXPECT_EQ(line.broker, "tcp://127.0.0.1:5570");
}

TEST_F(GatewayCommandLine, other_hosts_need_tokens_or_a_word) {
  EXPECT_THAT(mistake({"--listen", "0.0.0.0:80"}), HasSubstr("--tokens FILE is needed, or --insecure"));
  EXPECT_FALSE(serve({"--listen", "0.0.0.0:80", "--insecure"}).is_loopback);
  EXPECT_EQ(serve({"--listen", "0.0.0.0:80", "--tokens", "f"}).tokens, "f");
  EXPECT_EQ(serve({"--listen", "[::1]:0"}).host, "::1");
  EXPECT_EQ(serve({"--popcorn", "problems"}).popcorn, "problems");
}

TEST_F(GatewayCommandLine, the_evaluation_servers_environment_counts) {
  ::setenv("HOST", "127.0.0.2", 1);
  ::setenv("PORT", "9000", 1);
  ::setenv("LOG_LEVEL", "WARNING", 1);
  ::setenv("MAX_WORKERS", "4", 1);
  ::setenv("GPU_DEVICE", "cuda:0", 1);
  ::setenv("GPU_TYPE", "h100", 1);
  ::setenv("ENABLE_DEVICE_METRICS", "True", 1);
  const ServeCommand line = serve({});
  EXPECT_EQ(line.host, "127.0.0.2");
  EXPECT_EQ(line.port, 9000);
  EXPECT_EQ(line.log_level, "warning");
  EXPECT_EQ(line.limits.waits_max, 4u);
  EXPECT_EQ(line.evaluation.gpu_device, "cuda:0");
  EXPECT_EQ(line.evaluation.gpu_type, "h100");
  EXPECT_TRUE(line.evaluation.device_metrics);
  EXPECT_EQ(serve({"--listen", "localhost:1"}).port, 1);
  ::setenv("MAX_WORKERS", "none", 1);
  EXPECT_THAT(mistake({}), HasSubstr("MAX_WORKERS"));
}

TEST_F(GatewayCommandLine, mistakes_are_one_sentence) {
  for (const char* listen : {"8000", ":8000", "host:", "host:99999", "host:x"})
    EXPECT_THAT(mistake({"--listen", listen}), HasSubstr("HOST:PORT is needed")) << listen;
  EXPECT_THAT(mistake({"--no-such"}), HasSubstr("kq-gateway --help lists the options"));
  EXPECT_THAT(mistake({"token", "a/b"}), HasSubstr("may have letters"));
}

TEST_F(GatewayCommandLine, a_token_has_a_name_and_a_quota) {
  const auto parsed = parse({"token", "ada", "--quota", "7"});
  EXPECT_EQ(std::get<TokenCommand>(parsed).name, "ada");
  EXPECT_EQ(std::get<TokenCommand>(parsed).jobs_max, 7u);
}

}  // namespace
}  // namespace kq::gateway
