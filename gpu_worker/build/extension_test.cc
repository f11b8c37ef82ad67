#include "gpu_worker/build/extension.h"

#include <gtest/gtest.h>

namespace kq {
namespace {

std::string calls(const std::string& fields, const std::string& key = "k1") {
  return R"({"calls": [{"name": "m", "place": "add.py:9", "inline": true, "implicit_headers": true)" + (fields.empty() ? "" : ", " + fields) + R"(}], "keys": [")" + key + R"("]})";
}
ExtensionCall call(const std::string& fields) {
  const auto parsed = parse_calls(calls(fields));
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed->front();
}
std::string verdict(const std::string& fields) {
  const auto found = judge_call(call(fields));
  if (!found) return "fine";
  const Evidence& evidence = *evidence_of(*found);
  return evidence.reason + " " + evidence.rule + " at " + evidence.place;
}

TEST(ExtensionCalls, are_read_with_their_sources_and_flags) {
  const ExtensionCall found = call(R"("cpp": ["int f();"], "cuda": ["a", "b"], "cuda_cflags": ["-O3"], "with_cuda": true, "lines": {"cuda_sources[0]": 3})");
  EXPECT_EQ(found.key, "k1");
  EXPECT_EQ(found.name, "m");
  EXPECT_TRUE(found.with_cuda && found.has_cuda_sources && found.uses_torch);
  ASSERT_EQ(found.sources.size(), 3u);
  EXPECT_EQ(found.sources[0].first, "cpp_sources");
  EXPECT_EQ(found.sources[2].first, "cuda_sources[1]");
  EXPECT_EQ(found.flags.front(), (std::pair<std::string, std::string>("extra_cuda_cflags", "-O3")));
  EXPECT_EQ(found.lines.at("cuda_sources[0]"), 3u);
}

TEST(ExtensionCalls, are_judged_as_the_compiler_reads_them) {
  EXPECT_EQ(verdict(R"("cuda": ["int x;\nvoid f() { MAKE(&s); }"], "cuda_cflags": ["-DMAKE=cudaStreamCreate"])"), "stream cuda_stream_create at add.py:9, cuda_sources:2");
  EXPECT_EQ(verdict(R"("cuda": ["void f() { MAKE(&s); }"], "cuda_cflags": ["-D", "MAKE=cudaStreamCreate"])"), "stream cuda_stream_create at add.py:9, cuda_sources:1");
  EXPECT_EQ(verdict(R"("cuda": ["#define MAKE cudaStreamCreate", "void g();\nvoid f() { MAKE(&s); }"], "lines": {"cuda_sources[1]": 30})"), "stream cuda_stream_create at add.py:31");
  EXPECT_EQ(verdict(R"("cuda": ["#define SAME(x) x\nvoid f() { SAME(", "cudaStreamCreate(&s)); }"])"), "stream cuda_stream_create at add.py:9, cuda_sources[1]:1");
  EXPECT_EQ(verdict(R"("cpp": ["#define MAKE cudaStreamCreate"], "cuda": ["void f() { MAKE(&s); }"])"), "fine") << "another text of the compiler's";
  EXPECT_EQ(verdict(R"("cuda": ["void f() { k<<<N, 256>>>(); }"], "cuda_cflags": ["-DN=4", "-O3"])"), "fine");
}

TEST(ExtensionCalls, that_are_none_are_bad_input) {
  for (const std::string text : {"", "[]", "{}", R"({"calls": 3, "keys": []})", R"({"calls": [3], "keys": ["a"]})", R"({"calls": [{}], "keys": []})",
                                 R"({"calls": [{}], "keys": [7]})", "\xff\xfe"}) {
    const auto parsed = parse_calls(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().code, ExitCode::bad_input);
  }
  EXPECT_FALSE(parse_calls(std::string(kExtensionCallBytesMax + 1, ' ')));
}

TEST(ExtensionCalls, are_judged_in_lines_of_the_file_where_they_stand_there) {
  EXPECT_EQ(verdict(R"("cuda": ["\nvoid f() { cudaStreamCreate(&s); }"])"), "stream cuda_stream_create at add.py:9, cuda_sources:2");
  EXPECT_EQ(verdict(R"("cuda": ["\nvoid f() { cudaStreamCreate(&s); }"], "lines": {"cuda_sources": 20})"), "stream cuda_stream_create at add.py:21");
  EXPECT_EQ(verdict(R"("files": [["part0/x.cu", "void f() { cudaStreamCreate(&s); }"]])"), "stream cuda_stream_create at add.py:9, part0/x.cu:1");
  EXPECT_EQ(verdict(R"("cuda": ["// cudaStreamCreate"])"), "fine");
}

TEST(ExtensionCalls, may_not_bring_flags_that_break_a_rule) {
  EXPECT_EQ(verdict(R"("cuda_cflags": ["--default-stream=per-thread"])"), "policy per_thread_flag at add.py:9");
  EXPECT_EQ(verdict(R"("cuda_cflags": ["--default-stream", "per-thread"])"), "policy per_thread_flag at add.py:9");
  EXPECT_EQ(verdict(R"("cflags": ["-fplugin=x.so"])"), "policy compiler_flag at add.py:9");
  EXPECT_EQ(verdict(R"("cflags": ["-O3\tx\n2\toption"])"), "fine");
}

TEST(ExtensionKey, is_of_all_that_shapes_the_module_and_of_nothing_else) {
  const ExtensionCall one = call(R"("cpp": ["a"])");
  const Hash key = extension_key(one, "sm_90", "g++ 12");
  EXPECT_NE(key, extension_key(one, "sm_100", "g++ 12"));
  EXPECT_NE(key, extension_key(one, "sm_90", "g++ 13"));
  EXPECT_NE(key, extension_key(call(R"("cpp": ["b"])"), "sm_90", "g++ 12"));
  EXPECT_NE(key, extension_key(call(R"("cpp": ["a"], "cflags": ["-O3"])"), "sm_90", "g++ 12"));
  EXPECT_EQ(key, extension_key(call(R"("cpp": ["a"], "lines": {"cpp_sources": 7})"), "sm_90", "g++ 12"));
}

TEST(ExtensionHeader, is_chosen_by_what_is_compiled) {
  EXPECT_EQ(header_variant(call(R"("cpp": ["a"])")), "cpp-O1");
  EXPECT_EQ(header_variant(call(R"("cpp": ["a"], "cflags": ["-O3"])")), "cpp-O2");
  EXPECT_EQ(header_variant(call(R"("cpp": ["a"], "cuda": ["b"], "with_cuda": true, "cflags": ["-O3"])")), "cuda-O1");
  EXPECT_EQ(header_variant(call(R"("cpp": ["for (;;) {}"], "cuda": ["b"], "with_cuda": true, "cflags": ["-O3"])")), "cuda-O2");
  EXPECT_EQ(header_variant(call(R"("implicit_headers": false, "cpp": ["#include <cmath>"])")), "");
  EXPECT_EQ(header_variant(call(R"("implicit_headers": false, "cpp": ["#include <ATen/ATen.h>"])")), "cpp-O1");
}

}  // namespace
}  // namespace kq
