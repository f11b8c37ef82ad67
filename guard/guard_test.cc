#include "guard/guard.h"

#include <string>

#include <gtest/gtest.h>

#include "guard/facts.h"
#include "guard/rules.h"

namespace kq::guard {
namespace {

std::vector<Finding> judge(const std::string& facts) {
  const auto findings = judge_facts("file\tx.py\t2\n" + facts);
  EXPECT_TRUE(findings) << facts;
  return findings ? *findings : std::vector<Finding>{};
}

TEST(Guard, a_finding_names_rule_file_and_line) {
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
    {"option\ttorch.compile(mode)\treduce-overhead", "cuda_graph"},
    {"set\ttorch._inductor.config.triton.cudagraphs\tTrue", "cuda_graph"},
    {"call\tthreading.Timer", "host_thread"},
    {"call\ttorch.cuda.threading.Thread", "host_thread"},
    {"call\tasyncio.threads.to_thread", "host_thread"},
    {"call\tctypes.CDLL().pthread_create", "host_thread"},
    {"set\ttriton.runtime.driver.active.get_current_stream", "cuda_stream_context"},
    {"set\ttorch._C._cuda_getCurrentRawStream", "cuda_stream_context"},
    {"call\tcuda.bindings.driver.CUstream\t2", "stream_per_thread"},
    {"set\tx.__code__.co_code", "exec_payload"},
    {"set\ttorch.cuda.Event.elapsed_time", "patches_clock"},
    {"set\ttorch.cuda.?", "patches_clock"},
    {"set\ttime.perf_counter", "patches_clock"},
    {"set\tsys._getframe().f_back.f_globals.x", "rewrites_caller"},
    {"set\tbuiltins.print", "rewrites_caller"},
    {"set\tsys.modules.time\t?", "rewrites_caller"},
    {"set\tsys.modules.torch.kernels\t?", "rewrites_caller"},
    {"set\tsys.modules.kernelbench\t?", "rewrites_caller"},
    {"set\tsys.modules.?\t?", "rewrites_caller"},
    {"set\tsys.modules._relu_parts\tmath", "rewrites_caller"},
    {"set\tsys.modules.generated_kernels\ttorch.cuda", "rewrites_caller"},
    {"base\ttorch.Tensor", "tensor_subclass"},
    {"call\t?.as_subclass\t?", "tensor_subclass"},
    {"value\t?.as_subclass", "tensor_subclass"},
    {"call\texec\tbase64.b64decode()", "exec_payload"},
    {"note\tsource.encoding\tlatin-1", "disguised_source"},
    {"option\ttorch.utils.cpp_extension.load_inline(extra_cuda_cflags)\t--default-stream=per-thread",
     "per_thread_flag"},
    {"option\ttorch.utils.cpp_extension.load_inline(extra_cuda_cflags)\t-ccbin=/tmp/x", "compiler_flag"},
    {"set\tos.environ.NVCC_APPEND_FLAGS", "tool_environment"},
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
    {"set\ttorch.backends.cuda.matmul.allow_tf32\tTrue"},
    {"set\ttorch._inductor.config.triton.cudagraphs\tFalse"},
    {"option\ttorch.compile(mode)\tmax-autotune-no-cudagraphs"},
    {"option\ttorch.utils.cpp_extension.load_inline(extra_cuda_cflags)\t-O3 --use_fast_math"},
    {"call\teval\ttext"},
    {"call\tthreading.Lock"},
    {"set\tos.environ.TORCH_CUDA_ARCH_LIST\t9.0"},
    {"call\ttime.perf_counter"},
    {"set\tsys.modules.generated_kernels\t?"},
    {"set\tsys.modules._relu_parts\timportlib.util.module_from_spec()"},
    {"set\tsys.modules._parts_?\ttypes.ModuleType()"},
    {"set\tsys.modules.kernels\timportlib.util.module_from_spec()"},
    {"call\ttorch.nn.Linear().weight.as_subclass\ttorch.Tensor"},
};

TEST(Guard, facts_that_break_a_rule_are_rejected) {
  for (const Case& c : kRejected) {
    const auto findings = judge(std::string("1\t") + c.fact + "\n");
    ASSERT_EQ(findings.size(), 1u) << c.fact;
    EXPECT_EQ(findings[0].rule, c.rule) << c.fact;
  }
}

TEST(Guard, a_cast_to_plain_tensor_is_rejected_if_torch_tensor_was_replaced) {
  const auto findings = judge("1\tset\ttorch.Tensor\t?\n2\tcall\t?.as_subclass\ttorch.Tensor\n");
  ASSERT_NE(first_rejected(findings), nullptr);
  EXPECT_EQ(first_rejected(findings)->rule, "tensor_subclass");
}

TEST(Guard, accepts_honest_facts) {
  for (const Case& c : kFine) EXPECT_TRUE(judge(std::string("1\t") + c.fact + "\n").empty()) << c.fact;
}

TEST(Guard, reports_a_rule_once_per_line) {
  EXPECT_EQ(judge("1\tcall\ttorch.cuda.Stream\n1\tcall\ttorch.cuda.Stream\n2\tcall\ttorch.cuda.Stream\n").size(), 2u);
}

TEST(Guard, reports_at_most_kFindingsMax_findings) {
  std::string facts;
  for (int line = 1; line < 500; ++line) facts += std::to_string(line) + "\tcall\ttorch.cuda.Stream\n";
  EXPECT_EQ(judge(facts).size(), kFindingsMax);
}

TEST(Guard, malformed_facts_are_an_error) {
  EXPECT_FALSE(judge_facts("nonsense\n"));
}

TEST(Guard, reviews_do_not_displace_rejections) {
  std::string facts;
  for (int line = 1; line < 500; ++line) facts += std::to_string(line) + "\tcall\tos.fork\n";
  const auto findings = judge(facts + "500\tcall\ttorch.cuda.Stream\n");
  EXPECT_EQ(findings.size(), kFindingsMax + 1);
  ASSERT_NE(first_rejected(findings), nullptr);
  EXPECT_EQ(first_rejected(findings)->line, 500u);
}

TEST(Guard, a_policy_lifts_the_rules_of_streams_and_graphs_and_no_others) {
  const Policy joined{.streams = Streams::joined}, allow{.graphs = Graphs::allow};
  const auto rejected = [](const std::string& facts, const Policy& policy) {
    const auto findings = judge(facts);
    const Finding* const found = first_rejected(findings, policy);
    return found == nullptr ? std::string("none") : found->rule;
  };
  const std::string stream = "1\tcall\ttorch.cuda.Stream\n", graph = "2\tcall\ttorch.cuda.CUDAGraph\n";
  EXPECT_EQ(rejected(stream + graph, {}), "cuda_stream_create");
  EXPECT_EQ(rejected(stream + graph, joined), "cuda_graph");
  EXPECT_EQ(rejected(stream + graph, allow), "none");
  EXPECT_EQ(rejected(stream + "3\tset\ttime.time\t?\n", allow), "patches_clock");
  std::string many;
  for (std::size_t line = 1; line <= kFindingsMax; ++line) many += std::to_string(line) + "\tcall\ttorch.cuda.Stream\n";
  EXPECT_EQ(rejected(many + "900\tset\ttime.time\t?\n", joined), "cuda_stream_create") << "the list is full";
}

TEST(Guard, code_that_never_runs_is_for_review) {
  const auto findings = judge("7\tcall\ttorch.cuda.Stream\t\tdead\n");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].severity, Severity::review);
  EXPECT_EQ(first_rejected(findings), nullptr);
}

TEST(Guard, judges_cuda_texts_in_the_lines_of_the_python_file) {
  const auto findings = judge("10\tcode\tvoid f() {\\n\t1\n11\tcode\tcudaStreamCreate(&s); }\\n\t1\n");
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].file, "x.py");
  EXPECT_EQ(findings[0].line, 11u);
}

TEST(Guard, macro_expansion_over_all_texts_is_limited) {
  std::string many;
  for (int i = 1; i <= 2'000; ++i) {
    many += "1\tcode\t#define a0 x x x x\\n\t" + std::to_string(i) + "\n";
    for (int k = 1; k < 14; ++k)
      many += "1\tcode\t#define a" + std::to_string(k) + " a" + std::to_string(k - 1) + " a" + std::to_string(k - 1) +
              "\\n\t" + std::to_string(i) + "\n";
    many += "1\tcode\ta13\\n\t" + std::to_string(i) + "\n";
  }
  const auto findings = judge(many);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "disguised_source");
}

TEST(JudgeTrigraphs, reports_trigraphs_that_hide_code_with_their_line) {
  for (const char* source :
       {"int a;\nstd::th?\?/\nread t;", "\n?\?=define T std::thread", "\nint i = 1 ?\?' 2; std::thread t; //'"}) {
    const auto findings = judge_trigraphs({.name = "k.cu", .text = source});
    ASSERT_EQ(findings.size(), 1u) << source;
    EXPECT_EQ(findings[0].rule, "disguised_source");
    EXPECT_EQ(findings[0].line, 2u) << source;
  }
  for (const char* source : {"", "?\?", "a ? b : c;", "// really?\?!", "\"(why?\?)\""})
    EXPECT_TRUE(judge_trigraphs({.name = "k.cu", .text = source}).empty()) << source;
}

}  // namespace
}  // namespace kq::guard
