#include "guard/guard.h"

#include <string>

#include <gtest/gtest.h>

#include "guard/facts.h"
#include "guard/rules.h"

namespace kq {
namespace {

std::vector<Finding> judge(const std::string& facts) {
  const auto findings = judge_facts("file\tx.py\n" + facts);
  EXPECT_TRUE(findings) << facts;
  return findings ? *findings : std::vector<Finding>{};
}

TEST(Guard, names_rule_file_and_line) {
  const auto findings = judge("7\tcall\ttorch.cuda.Stream\n");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "cuda_stream_create");
  EXPECT_EQ(findings[0].file, "x.py");
  EXPECT_EQ(findings[0].line, 7u);
  EXPECT_EQ(findings[0].message, "creates a CUDA stream: torch.cuda.Stream");
  EXPECT_FALSE(findings[0].hint.empty());
}

struct Case {
  const char* fact;  // without its line number
  const char* rule = nullptr;
};

constexpr Case kRejected[] = {
    {"call\ttorch.cuda.Stream", "cuda_stream_create"},
    {"call\ttorch.Stream", "cuda_stream_create"},
    {"base\ttorch.cuda.Stream", "cuda_stream_create"},
    {"value\ttorch.cuda.Stream", "cuda_stream_create"},
    {"call\tcupy.cuda.Stream", "cuda_stream_create"},
    {"call\tnumba.cuda.stream", "cuda_stream_create"},
    {"call\tctypes.CDLL().cudaStreamCreateWithFlags", "cuda_stream_create"},
    {"call\t?.cuStreamCreate", "cuda_stream_create"},
    {"call\ttorch.cuda.ExternalStream", "cuda_stream_external"},
    {"call\ttorch.cuda.stream", "cuda_stream_context"},
    {"call\ttorch.cuda.stream\t?", "cuda_stream_context"},
    {"call\ttorch.cuda.set_stream", "cuda_stream_context"},
    {"call\ttorch.cuda.CUDAGraph", "cuda_graph"},
    {"call\ttorch.cuda.graph", "cuda_graph"},
};
constexpr Case kFine[] = {
    {"call\ttorch.cuda.current_stream"},
    {"call\ttorch.cuda.default_stream"},
    {"call\ttorch.cuda.stream\ttorch.cuda.current_stream()"},
    {"call\ttorch.cuda.current_stream().synchronize"},
    {"call\ttorch.cuda.synchronize"},
    {"call\t?.record_stream\ttorch.cuda.current_stream()"},
    {"call\tStream"},
    {"call\tmake_upstream"},
    {"call\tstream_k_gemm"},
    {"call\tio.StringIO"},
    {"call\ttorch.cuda.Event"},
    {"call\ttorch.cuda.graphs_seen"},
};

TEST(Guard, rejects_by_rule) {
  for (const Case& c : kRejected) {
    const auto findings = judge(std::string("1\t") + c.fact + "\n");
    ASSERT_EQ(findings.size(), 1u) << c.fact;
    EXPECT_EQ(findings[0].rule, c.rule) << c.fact;
  }
}

TEST(Guard, leaves_what_is_fine_alone) {
  for (const Case& c : kFine) EXPECT_TRUE(judge(std::string("1\t") + c.fact + "\n").empty()) << c.fact;
}

TEST(Guard, reports_a_rule_once_per_line) {
  EXPECT_EQ(judge("1\tcall\ttorch.cuda.Stream\n1\tcall\ttorch.cuda.Stream\n2\tcall\ttorch.cuda.Stream\n").size(), 2u);
}

TEST(Guard, reports_no_more_than_a_person_can_read) {
  std::string facts;
  for (int line = 1; line < 500; ++line) facts += std::to_string(line) + "\tcall\ttorch.cuda.Stream\n";
  EXPECT_EQ(judge(facts).size(), kFindingsMax);
}

TEST(Guard, facts_that_are_none_are_an_error) { EXPECT_FALSE(judge_facts("nonsense\n")); }

TEST(Rules, have_unique_names_and_say_what_would_be_right) {
  for (const Rule& rule : kRules) {
    EXPECT_FALSE(rule.message.empty() || rule.hint.empty() || rule.patterns.empty()) << rule.name;
    for (const Rule& other : kRules) EXPECT_TRUE(&rule == &other || rule.name != other.name) << rule.name;
  }
}

}  // namespace
}  // namespace kq
