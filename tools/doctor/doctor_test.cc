#include "tools/doctor/doctor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::tools {
namespace {

using testing::HasSubstr;

std::vector<Finding> findings(const std::string& json) {
  return findings_of(*producer::parse_json(json), "install torch");
}

const Finding* find(const std::vector<Finding>& all, const std::string& what) {
  for (const Finding& finding : all) {
    if (finding.what == what) return &finding;
  }
  return nullptr;
}

constexpr const char* kHealthy =
    R"({"devices":[{"kind":"cuda","model":"NVIDIA H200","memory_bytes":150754820096}],"failures":[],)"
    R"("software":{"python":"3.11.2","torch":"2.11.0","triton":"3.6.0","cuda":"13.0"},)"
    R"("sandbox":["uid","user","rlimits"],"sandbox_missing":[]})";

TEST(Doctor, a_healthy_machine_is_good) {
  const auto all = findings(kHealthy);
  EXPECT_EQ(worst(all), Health::good);
  EXPECT_EQ(find(all, "device: cuda")->found, "NVIDIA H200, 140 GiB");
  EXPECT_EQ(find(all, "sandbox: uid")->found, "in force");
}

TEST(Doctor, a_missing_layer_is_weak_and_comes_with_advice) {
  const auto all = findings(
      R"({"devices":[{"kind":"cpu","model":"EPYC"}],"sandbox":["rlimits"],"sandbox_missing":["landlock","uid"]})");
  EXPECT_EQ(worst(all), Health::weak);
  EXPECT_THAT(find(all, "sandbox: uid")->advice, HasSubstr("as root"));
  EXPECT_THAT(find(all, "sandbox: landlock")->advice, HasSubstr("5.13"));
}

TEST(Doctor, a_triton_whose_loops_fail_is_weak) {
  EXPECT_EQ(find(findings(kHealthy), "triton: loops"), nullptr);
  const auto works = findings(R"({"devices":[{"kind":"cpu","model":"EPYC"}],"triton_loop":""})");
  EXPECT_EQ(worst(works), Health::good);
  const auto fails = findings(R"({"devices":[{"kind":"cpu","model":"EPYC"}],"triton_loop":"TypeError: no"})");
  EXPECT_EQ(worst(fails), Health::weak);
  EXPECT_EQ(find(fails, "triton: loops")->found, "TypeError: no");
  EXPECT_THAT(find(fails, "triton: loops")->advice, HasSubstr("numpy 2.3"));
}

TEST(Doctor, a_worker_that_would_not_start_is_bad) {
  const auto all =
      findings(R"({"devices":[],"failures":["python3 cannot import torch"],"sandbox":[],"sandbox_missing":["uid"]})");
  EXPECT_EQ(worst(all), Health::bad);
  EXPECT_EQ(find(all, "worker")->found, "python3 cannot import torch");
  EXPECT_EQ(find(all, "worker")->advice, "install torch");
  EXPECT_EQ(find(all, "sandbox: uid"), nullptr);
}

TEST(Doctor, a_self_test_of_another_shape_still_gives_findings) {
  for (const char* odd : {"{}", "[]", "7", R"({"devices":7,"failures":{},"software":[],"sandbox":"x"})",
                          R"({"devices":[7],"sandbox":[1]})"}) {
    EXPECT_FALSE(findings(odd).empty()) << odd;
  }
}

TEST(Doctor, programs_are_found_in_path) {
  EXPECT_EQ(program_finding("a shell", "sh", "/nonsense:/bin", "").found, "/bin/sh");
  const Finding missing = program_finding("compiler", "no-such-compiler", "/nonsense:/bin", "install it");
  EXPECT_EQ(missing.health, Health::weak);
  EXPECT_EQ(missing.advice, "install it");
}

TEST(Doctor, json_has_all_findings) {
  const auto said = producer::parse_json(doctor_json(findings(kHealthy)));
  ASSERT_TRUE(said);
  EXPECT_EQ(*said->find("health")->text(), "good");
  EXPECT_EQ(said->find("findings")->array()->size(), 7u);
}

}  // namespace
}  // namespace kq::tools
