#include "gpu_worker/zygote/packets.h"

#include <gtest/gtest.h>

namespace kq::worker {
namespace {

TEST(zygote_hello, has_the_software_of_the_children) {
  const auto hello = parse_zygote_hello(
      R"({"ready": true, "python": "3.11.2", "torch": "2.11.0", "triton": "3.6.0", "cuda": null, "packages": "0a1b",
          "backends": ["torch", "hip", 7, "cuda"], "compilers": "g++ 12", "sandbox": "uid,user",
          "toolchain": "extensions/4", "prefixes": ["extension-O1", 7]})");
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->software.python, "3.11.2");
  EXPECT_EQ(hello->software.torch, "2.11.0");
  EXPECT_EQ(hello->software.triton, "3.6.0");
  EXPECT_EQ(hello->software.cuda, "");
  EXPECT_EQ(hello->software.packages, "0a1b");
  EXPECT_EQ(hello->backends, (std::vector<Backend>{Backend::torch, Backend::cuda}));
  EXPECT_EQ(hello->compilers, "g++ 12");
  EXPECT_EQ(hello->sandbox, "uid,user");
  EXPECT_EQ(hello->toolchain, "extensions/4");
  EXPECT_EQ(hello->prefixes, std::vector<std::string>{"extension-O1"});
}

TEST(zygote_hello, has_the_error_of_a_zygote_that_could_not_start) {
  EXPECT_EQ(parse_zygote_hello(R"({"error": "no torch"})").error().message, "no torch");
  for (const char* packet : {"", "[]", "null", "{", "{}"})
    EXPECT_EQ(parse_zygote_hello(packet).error().message, "") << packet;
}

// A recursive copy of such a list would overflow the stack.
TEST(zygote_hello, may_be_nested_deep) {
  const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  const auto hello = parse_zygote_hello(R"({"ready": true, "backends": )" + deep + R"(, "prefixes": [)" + deep + "]}");
  ASSERT_TRUE(hello);
  EXPECT_TRUE(hello->backends.empty());
  EXPECT_TRUE(hello->prefixes.empty());
}

TEST(child_status, reports_forks_ends_and_errors) {
  const auto forked = parse_child_status(R"({"id": 7, "pid": 1234})");
  ASSERT_TRUE(forked);
  EXPECT_EQ(forked->id, 7u);
  EXPECT_EQ(forked->pid, 1234);
  EXPECT_FALSE(forked->exit);
  EXPECT_EQ(parse_child_status(R"({"id": 7, "exit": 9})")->exit, 9);
  EXPECT_EQ(parse_child_status(R"({"id": 7, "exit": 9})")->left, 0);
  EXPECT_EQ(parse_child_status(R"({"id": 7, "exit": 9, "left": 2})")->left, 2);
  EXPECT_EQ(parse_child_status(R"({"id": 7, "error": "no memory"})")->error, "no memory");
}

TEST(child_status, without_an_id_is_invalid) {
  for (const char* packet : {"", "[7]", "{}", R"({"id": -7})", R"({"id": "7"})", R"({"id": 7.5})", R"({"id": 7)"}) {
    EXPECT_FALSE(parse_child_status(packet)) << packet;
  }
}

// Truncated to 32 bits, 2^32 + 1 would be process 1.
TEST(child_status, a_pid_that_is_out_of_range_is_not_set) {
  for (const char* number : {"4294967297", "-4294967297", "18446744073709551615", "1.5", "\"1\"", "true"}) {
    const auto status = parse_child_status(R"({"id": 7, "pid": )" + std::string(number) + "}");
    ASSERT_TRUE(status);
    EXPECT_FALSE(status->pid) << number;
  }
}

}  // namespace
}  // namespace kq::worker
