#include "guard/cuda_tokens.h"

#include <gtest/gtest.h>

#include "core/limits.h"
#include "guard/guard.h"

namespace kq::guard {
namespace {

std::string facts(std::string_view source) {
  const CudaFacts found = cuda_facts({"a.cu", source});
  std::string text;
  for (const Fact& fact : found.facts) {
    if (!text.empty()) text += ' ';
    text += std::string(to_string(fact.kind)) + ":" + std::string(fact.name);
    if (!fact.argument.empty()) text += "(" + std::string(fact.argument) + ")";
    text += "@" + std::to_string(fact.line);
  }
  return text;
}
std::vector<std::string> rules_of(std::string_view source) {
  std::vector<std::string> found;
  for (const Finding& finding : judge_cuda({"f.cu", source}))
    found.push_back(finding.rule + ":" + std::to_string(finding.line));
  return found;
}
using Rules = std::vector<std::string>;

TEST(CudaTokens, are_names_with_their_arguments) {
  EXPECT_EQ(facts("f(a, 1);"), "call:f(a,1)@1 value:a@1");
  EXPECT_EQ(facts("at::cuda::CUDAGuard guard(x);"), "call:at::cuda::CUDAGuard(x)@1 call:guard(x)@1 value:x@1");
  EXPECT_EQ(facts("F<int>{y}"), "call:F(y)@1 value:int@1 value:y@1");
  EXPECT_EQ(facts("a < b; c"), "value:a@1 value:b@1 value:c@1");
}

TEST(CudaTokens, a_variable_stands_for_its_initialiser) {
  EXPECT_EQ(facts("auto s = get();\nG g(s);"),
            "call:auto(get())@1 call:s(get())@1 call:get@1 call:G(get())@2 call:g(get())@2 value:s@2");
}

TEST(CudaTokens, strings_are_facts_in_a_source_that_looks_up_functions) {
  EXPECT_EQ(facts("p(\"cuStream\" \"Create\")"), "call:p(\"cuStream\"\"Create\")@1");
  EXPECT_EQ(facts("dlsym(h, \"cuStream\" \"Create\")"),
            "call:dlsym(h,\"cuStream\"\"Create\")@1 value:h@1 text:cuStreamCreate@1");
}

// An argument is cut, but whether it is the name of a variable depends on the whole argument.
TEST(CudaTokens, a_long_argument_is_cut_after_200_bytes) {
  const std::string name(300, 'n');
  EXPECT_EQ(facts("f(" + name + " + 1);"), "call:f(" + name.substr(0, 200) + ")@1 value:" + name + "@1");
  EXPECT_EQ(facts("auto " + name + " = get();\nf(" + name + ");\nf(" + name + " + 1);"),
            "call:auto(get())@1 call:" + name + "(get())@1 call:get@1 call:f(get())@2 value:" + name + "@2 call:f(" +
                name.substr(0, 200) + ")@3 value:" + name + "@3");
  EXPECT_EQ(facts("f(a, " + name + ");"), "call:f(a," + name.substr(0, 198) + ")@1 value:a@1 value:" + name + "@1");
}

// Without a limit of what is copied, a few of these names would be gigabytes of arguments.
TEST(CudaTokens, a_long_name_is_copied_in_part_only) {
  const std::string define = "#define A " + std::string(kFileBytesMax / 2, 'a') + "\n";
  const auto times = [](const std::string& text) {
    std::string all;
    while (all.size() < kFileBytesMax / 16) all += text;
    return all;
  };
  for (const char* text : {"A(", "x = A;", "A::A;", "namespace a = A;"}) {
    const CudaFacts found = cuda_facts({"a.cu", define + times(text)});
    EXPECT_LE(found.facts.size(), 8u) << text;
    for (const Fact& fact : found.facts) EXPECT_LE(fact.name.size() + fact.argument.size(), 600u) << text;
  }
  const std::string text = "#define A \"" + std::string(kFileBytesMax / 2, 'a') + "\"\ndlsym;";
  EXPECT_EQ(facts(text + times("A;")).substr(0, 33), "option:#define(A)@1 value:dlsym@2");
}

// A search for the end of each of these templates and launches from each launch before it would take very long.
TEST(JudgeCuda, launches_that_never_end_are_read_in_time) {
  std::string source;
  while (source.size() < kFileBytesMax / 4) source += "a< <<<";
  EXPECT_EQ(rules_of(source), Rules{});
  EXPECT_EQ(rules_of(source.substr(0, 1200) + "k<<<Traits<float, 4>::grid(n), 2, 0, 2>>>();"),
            Rules{"stream_per_thread:1"});
}

TEST(JudgeCuda, shortens_very_long_names) {
  const std::string source = "cudaStreamCreate" + std::string(kFileBytesMax / 2, 'x');
  const auto findings = judge_cuda({"f.cu", source});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_LE(findings[0].message.size(), kMessageTextMax);
  EXPECT_TRUE(findings[0].message.ends_with("xxx..."));
}

TEST(JudgeCuda, a_number_as_a_stream_handle_is_found_through_any_cast) {
  for (const char* source : {"f((cudaStream_t)2);", "f((cudaStream_t)(uintptr_t)2);",
                             "f(reinterpret_cast<cudaStream_t>(static_cast<std::uintptr_t>(2)));",
                             "using S = cudaStream_t;\nf((S)2);", "typedef cudaStream_t S; S s = (S)(size_t)2;",
                             "k<<<1, 2, 0, 2>>>();", "#ifndef S\n#define S 2\n#endif\nk<<<1, 2, 0, S>>>();",
                             "#ifndef S\n#define S 2\n#endif\nf((cudaStream_t)S);", "k<<<1, a < b, 0, 2>>>();"}) {
    const Rules rules = rules_of(source);
    ASSERT_EQ(rules.size(), 1u) << source;
    EXPECT_TRUE(rules.front().starts_with("stream_per_thread:")) << source;
  }
}

TEST(JudgeCuda, other_numbers_near_streams_are_not_handles) {
  for (const char* source :
       {"k<<<Traits<float, 4>::grid(n), 256, 4096>>>(x);",
        "k<<<grid<4, 2>(n), Traits<Foo<float>, 3>::block(), 1024>>>(x);", "int n = sizeof(cudaStream_t) * 2;",
        "cudaStream_t streams[2];", "cudaStream_t s = (cudaStream_t)(base); f(2);", "cudaStream_t s = get(2);"}) {
    EXPECT_EQ(rules_of(source), Rules{}) << source;
  }
}

TEST(JudgeCuda, threads_are_found_through_namespace_aliases) {
  EXPECT_EQ(rules_of("namespace s = std;\nvoid f() { s::thread t(g); }"), Rules{"host_thread:2"});
  EXPECT_EQ(rules_of("using namespace std;\nvoid f() { thread t(g); }"), Rules{"host_thread:2"});
  EXPECT_EQ(rules_of("using namespace std;\nvector<thread> all;"), Rules{"host_thread:2"});
  EXPECT_EQ(rules_of("using namespace std;\nvoid f() { return thread(g).detach(); }"), Rules{"host_thread:2"});
  EXPECT_EQ(rules_of("using namespace std;\n__global__ void f() { int thread = threadIdx.x; int async(3); g(thread, "
                     "x.async(2)); auto thread2 = thread; }"),
            Rules{});
  EXPECT_EQ(rules_of("void f() { thread t(g); }"), Rules{}) << "the namespace of `thread` is unknown";
}

TEST(JudgeCuda, names_that_the_source_declares_are_not_those_of_std) {
  for (const char* own :
       {"struct thread { int x; };\nvoid f() { thread t(1); }", "struct async { int n; };\nvoid f() { async a{3}; }",
        "template <int thread, int block> int reduce(int v) { return v + thread; }\n"
        "int g() { return reduce<thread, 2>(1); }",
        "enum class thread : int { one };\nvoid f() { auto t = thread(1); }"}) {
    EXPECT_EQ(rules_of(std::string("using namespace std;\n") + own), Rules{}) << own;
  }
  for (const char* of_std : {"void f() { thread t(g); }", "void f() { async(g); }", "void f() { return thread(g); }"}) {
    EXPECT_EQ(rules_of(std::string("using namespace std;\n") + of_std), Rules{"host_thread:2"}) << of_std;
  }
}

TEST(JudgeCuda, a_macro_that_may_be_defined_does_not_decide_a_condition) {
  EXPECT_EQ(
      rules_of(
          "#ifndef __GNUC__\n#define __GNUC__ 0\n#endif\n#if __GNUC__\nvoid f() { cudaStreamCreate(&s); }\n#endif"),
      Rules{"cuda_stream_create:5"});
  EXPECT_EQ(rules_of("#define false 1\n#if false\nvoid f() { cudaStreamCreate(&s); }\n#endif"),
            Rules{"cuda_stream_create:3"});
  EXPECT_EQ(rules_of("#define ON 0\n#pragma push_macro(\"ON\")\n#pragma pop_macro(\"ON\")\n#if ON\nvoid f() { "
                     "cudaStreamCreate(&s); }\n#endif"),
            Rules{"cuda_stream_create:5"});
  EXPECT_EQ(rules_of("#define ON 0\n#if ON\nvoid f() { cudaStreamCreate(&s); }\n#endif"), Rules{});
}

// A linear search of the parameters for each word of the body would take a minute.
TEST(JudgeCuda, a_macro_with_very_many_parameters_is_read_in_time) {
  std::string parameters, body;
  for (int i = 0; i < 60'000; ++i) parameters += (i == 0 ? "p" : ",p") + std::to_string(i);
  for (int i = 0; i < 40'000; ++i) body += " p59999";
  std::string source = "#define F(" + parameters + ")" + body + "\n";
  for (int i = 0; i < 80; ++i) source += "F()\n";
  source += "void f() { cudaStreamCreate(&s); }\n";
  EXPECT_FALSE(rules_of(source).empty());
}

TEST(JudgeCuda, follows_a_header_in_a_folder) {
  const std::vector<CppSource> sources{{"part0/m.h", "#define MAKE cudaStreamCreate\n"},
                                       {"part0/a.cu", "#include \"m.h\"\nvoid f() { MAKE(&s); }"}};
  const auto findings = judge_cuda(sources[1], sources);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "cuda_stream_create");
}

TEST(JudgeCuda, names_the_line_of_a_stream) {
  const auto findings = judge_cuda(
      {"f.cu", "#include <cuda_runtime.h>\nvoid f() {\n  cudaStream_t s;\n  cudaStreamCreateWithFlags(&s, 1);\n}\n"});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].rule, "cuda_stream_create");
  EXPECT_EQ(findings[0].file, "f.cu");
  EXPECT_EQ(findings[0].line, 4u);
}

TEST(JudgeCuda, finds_streams_behind_macros_and_look_ups) {
  EXPECT_EQ(rules_of("#define P(a, b) a##b\nP(cudaStream, CreateWithFlags)(&s, 1);"), Rules{"cuda_stream_create:2"});
  EXPECT_EQ(rules_of("void* f = dlsym(h, \"cuStream\" \"Create\");"),
            (Rules{"dynamic_library:1", "cuda_stream_create:1"}));
  EXPECT_EQ(rules_of("auto s = at::cuda::getStreamFromPool();"), Rules{"cuda_stream_create:1"});
}

TEST(JudgeCuda, finds_streams_by_special_handles) {
  EXPECT_EQ(rules_of("k<<<1, 2, 0, cudaStreamPerThread>>>();"), Rules{"stream_per_thread:1"});
  EXPECT_EQ(rules_of("k<<<1, 2, 0, (cudaStream_t)2>>>();"), Rules{"stream_per_thread:1"});
  EXPECT_EQ(rules_of("k<<<1, 2, 0, reinterpret_cast<cudaStream_t>(0x2)>>>();"), Rules{"stream_per_thread:1"});
  EXPECT_EQ(rules_of("cudaStream_t s = (CUstream_st*)2;"), Rules{"stream_per_thread:1"});
  EXPECT_EQ(rules_of("#define CUDA_API_PER_THREAD_DEFAULT_STREAM\n"), Rules{"per_thread_flag:1"});
  EXPECT_EQ(rules_of("#define CUDA_API_PER_THREAD_DEFAULT_STREAM 1\n#include <cuda_runtime.h>\n"),
            Rules{"per_thread_flag:1"});
}

TEST(JudgeCuda, accepts_honest_sources) {
  for (const char* source : {
           "// cudaStreamCreate is not used\nvoid stream_k(cudaStream_t stream) { std::ostringstream s; }",
           "k<<<1, 2, 0, at::cuda::getCurrentCUDAStream()>>>();",
           "k<<<grid, block, 0, stream>>>();",
           "k<<<1, 2, 0, (cudaStream_t)0>>>();",
           "k<<<1, 2, 48 * 1024, 0>>>();",
           "k<<<dim3(1, 2), f(3), smem>>>(x, 2);",
           "cudaStream_t streams[2]; cudaStream_t s = 0; cudaStream_t t = nullptr; CUstream u = (CUstream)1;",
           "const at::cuda::CUDAGuard guard(x.device()); cublasSetStream(handle, at::cuda::getCurrentCUDAStream());",
           "auto stream = c10::cuda::getCurrentCUDAStream();\nat::cuda::CUDAStreamGuard guard(stream);",
           "void run(torch::Tensor x, cudaStream_t stream) { k<<<1, 2, 0, stream>>>(x); }",
           "void run(int64_t s) { auto stream = reinterpret_cast<cudaStream_t>(s); k<<<1, 2, 0, stream>>>(); }",
           "int n = std::thread::hardware_concurrency(); std::mutex m; std::this_thread::yield();",
           "#if 0\ncudaStreamCreate(&s);\n#endif\n",
           "TORCH_CHECK(ok, \"cudaStreamCreate is not used\");",
           "cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 100 * 1024);",
       }) {
    EXPECT_EQ(rules_of(source), Rules{}) << source;
  }
}

TEST(JudgeCuda, preprocessed_output_is_judged_by_its_line_marks) {
  const auto findings = judge_preprocessed(
      {"k.cu", "# 1 \"/usr/include/cuda_runtime.h\"\ncudaStreamCreate(x);\n# 41 \"k.cu\"\n\ncudaStreamCreate(&s);\n"});
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].line, 42u);
}

}  // namespace
}  // namespace kq::guard
