#include "producer/formats/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kq::producer {
namespace {

using testing::HasSubstr;

std::string words(std::string_view text) {
  std::string all;
  for (const HeaderSetting& setting : read_header(text))
    all += std::to_string(setting.line) + " " + setting.key + "=" + setting.value + "\n";
  return all;
}
std::string error_text(const std::string& key, const std::string& value) {
  Candidate candidate;
  return set_by_name(candidate, key, value, 0).value_or("");
}

TEST(settings, a_header_is_in_the_comments_before_the_first_line_of_code) {
  EXPECT_EQ(words("#!/usr/bin/python\n\n# kq: problem=relu.py  precision=fp16\n# by me\n# kq: gpu=\"NVIDIA "
                  "H200\"\nimport torch\n# kq: rtol=1\n"),
            "3 problem=relu.py\n3 precision=fp16\n5 gpu=NVIDIA H200\n");
  EXPECT_EQ(words("// kq: timed=100 backend=\r\n/* kq: author=ann */\n#include <x>\n// kq: rtol=1\n"),
            "1 timed=100\n1 backend=\n2 author=ann\n");
  EXPECT_EQ(words("import torch\n# kq: rtol=1\n"), "");
  EXPECT_EQ(words(""), "");
  EXPECT_EQ(words("# kq: fast"), "1 =fast\n");
}

TEST(settings, each_sets_what_it_names) {
  Candidate candidate;
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"id", "mine"},          {"problem", "x"},
                                                        {"backend", "triton"},   {"device", "cuda"},
                                                        {"gpu", "NVIDIA H200"},  {"precision", "bf16"},
                                                        {"warmup", "0"},         {"timed", "100"},
                                                        {"baseline", "compile"}, {"profile", "ncu"},
                                                        {"streams", "joined"},   {"graphs", "allow"},
                                                        {"priority", "high"},    {"not_before", "1970-01-01T00:00:05Z"},
                                                        {"deadline", "+1h"},     {"time_limit_s", "1.5"},
                                                        {"require", "lab"},      {"author", "ann"},
                                                        {"tag.model", "m1"},     {"need_extensions", "yes"}}) {
    EXPECT_EQ(set_by_name(candidate, key, value, 0), std::nullopt) << key;
  }
  EXPECT_EQ(candidate.label, "mine");
  EXPECT_EQ(candidate.backend, Backend::triton);
  EXPECT_EQ(candidate.device, DeviceWish::cuda);
  EXPECT_EQ(candidate.gpu_model, "NVIDIA H200");
  EXPECT_EQ(candidate.precision, Precision::bf16);
  EXPECT_EQ(candidate.trials, (Trials{Trials().correctness, 0, 100, Baseline::compile, Profiler::ncu, true,
                                      Streams::joined, Graphs::allow}));
  EXPECT_EQ(candidate.priority, Priority::high);
  EXPECT_EQ(candidate.not_before_ms, 5'000);
  EXPECT_EQ(candidate.deadline_ms, 3'600'000);
  EXPECT_EQ(candidate.time_limit_ms, 1'500u);
  EXPECT_EQ(candidate.labels, std::vector<std::string>{"lab"});
  EXPECT_EQ(candidate.author, "ann");
  EXPECT_EQ(candidate.tags.at("model"), "m1");
}

TEST(settings, a_mistake_says_what_would_be_right) {
  EXPECT_THAT(error_text("speed", "1"), HasSubstr("there is no setting 'speed'; known are id, problem, backend"));
  EXPECT_EQ(error_text("", "fast"), "'fast' is no key=value");
  EXPECT_EQ(error_text("timed", "1001"), "timed must be an integer from 0 to 1000, got '1001'");
  EXPECT_THAT(error_text("backend", "hip"), HasSubstr("backend must be one of torch, triton"));
  EXPECT_EQ(error_text("need_extensions", "1"), "need_extensions must be yes or no, got '1'");
  EXPECT_NE(error_text("deadline", "soon"), "");
}

TEST(settings, tolerances_and_factors_have_a_range) {
  EXPECT_EQ(*parse_tolerance("1e-3"), 1e-3);
  EXPECT_EQ(*parse_truth_factor("2.5"), 2.5);
  for (const char* wrong : {"2", "-1", "nan", "0.5x", ""})
    EXPECT_EQ(parse_tolerance(wrong).error().message, "must be a number from 0 to 1, got '" + std::string(wrong) + "'");
  for (const char* wrong : {"1001", "-1", "nan", "0.5x", ""})
    EXPECT_EQ(parse_truth_factor(wrong).error().message,
              "must be a number from 0 to 1000, got '" + std::string(wrong) + "'");
}

// A kernel that sets its own tolerance passes with any output.
TEST(settings, a_kernel_does_not_decide_what_counts_as_right) {
  for (const auto& [key, value] : std::vector<std::pair<std::string, std::string>>{{"rtol", "1"},
                                                                                   {"atol", "1"},
                                                                                   {"correctness", "1"},
                                                                                   {"workloads", "1"},
                                                                                   {"truth", "no"},
                                                                                   {"truth_rms", "1000"},
                                                                                   {"truth_max", "1000"},
                                                                                   {"allow_precision", "bf16"}}) {
    Candidate candidate;
    EXPECT_THAT(set_by_name(candidate, key, value, 0).value_or(""), HasSubstr(key + " is not for a kernel to say"));
    EXPECT_EQ(candidate.rtol, std::nullopt);
    EXPECT_EQ(candidate.atol, std::nullopt);
    EXPECT_EQ(candidate.trials, Trials());
    EXPECT_EQ(candidate.truth, TruthRule());
    EXPECT_TRUE(candidate.workloads.empty());
  }
}

}  // namespace
}  // namespace kq::producer
