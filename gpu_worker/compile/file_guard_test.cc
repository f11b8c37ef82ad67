#include "gpu_worker/compile/file_guard.h"

#include <string>
#include <tuple>
#include <utility>

#include <gtest/gtest.h>

#include "core/limits.h"
#include "sys/clock.h"

namespace kq::worker {
namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

Lease lease_of(Backend backend, const Files& files) {
  Lease lease;
  lease.submission.backend = backend;
  for (const auto& [name, bytes] : files) {
    lease.submission.files.push_back({name, sha256(bytes)});
    lease.blobs.push_back({sha256(bytes), bytes});
  }
  return lease;
}

// Returns "rejected: place" or "build_failed: message", or "nothing" for files that may be built.
std::string judged(const Lease& lease) {
  std::vector<ReviewFinding> for_review;
  const auto verdict = judge_files(lease, {.end_ms = sys::monotonic_now_ms() + 60'000, .limit_ms = 60'000}, for_review);
  if (!verdict) return "error: " + verdict.error().message;
  if (!*verdict) return "nothing";
  const Evidence& evidence = *evidence_of(**verdict);
  return std::string(to_string(name_of(**verdict))) + ": " +
         (name_of(**verdict) == VerdictName::rejected ? evidence.place : evidence.message);
}

std::string judged(Backend backend, const Files& files) {
  return judged(lease_of(backend, files));
}

TEST(FileGuard, a_binary_file_is_rejected) {
  const std::string bytecode("\xA7\x0D\x0D\x0A\0\0\0\0", 8);
  EXPECT_EQ(judged(Backend::torch, {{"k.pyc", bytecode}}), "rejected: k.pyc");
  EXPECT_EQ(judged(Backend::torch, {{"k.py", "from evil import ModelNew\n"}, {"evil.pyc", bytecode}}),
            "rejected: evil.pyc");
  const std::string library =
      "\x7f"
      "ELF";
  EXPECT_EQ(judged(Backend::torch, {{"k.py", "import evil\n"}, {"evil.so", library}}), "rejected: evil.so");
}

TEST(FileGuard, a_stream_in_cuda_source_is_rejected_unless_the_job_allows_streams) {
  const Files files{{"k.cu", "void f() {\n cudaStreamCreate(0); }"}};
  EXPECT_EQ(judged(Backend::cuda, files), "rejected: k.cu:2");
  Lease lease = lease_of(Backend::cuda, files);
  lease.submission.trials.streams = Streams::joined;
  EXPECT_EQ(judged(lease), "nothing");
}

TEST(FileGuard, trigraphs_are_rejected_where_the_standard_has_them) {
  const std::pair<std::string, std::string> kernel{"k.cu", "int a?\?/\n;"};
  EXPECT_EQ(judged(Backend::cuda, {kernel, {"k.json", R"({"compiler_options": ["--std\u003dc++14"]})"}}),
            "rejected: k.cu:1");
  EXPECT_EQ(judged(Backend::cuda, {kernel, {"k.json", R"({"compiler_options": ["--std\u003dc++20"]})"}}), "nothing");
  EXPECT_EQ(judged(Backend::cuda, {kernel, {"k.json", "{'compiler_options': []}"}}), "rejected: k.cu:1")
      << "what the text asks for is unknown";
  const std::string deep = std::string(100, '[') + R"("--std=c++14")" + std::string(100, ']');
  EXPECT_EQ(judged(Backend::cuda, {kernel, {"k.json", deep}}), "rejected: k.cu:1");
}

TEST(FileGuard, the_entry_file_must_have_a_type_of_its_backend) {
  for (const auto& [backend, entry, message] :
       {std::tuple{Backend::torch, "k.txt", "k.txt: a torch submission begins with a .py file"},
        {Backend::cuda, "k.txt", "k.txt: a cuda submission begins with a .cu, .ptx or .cubin file"},
        {Backend::cuda, "k.cc", "k.cc: a cuda submission begins with a .cu, .ptx or .cubin file"},
        {Backend::cuda, "launch", "launch: the build makes a file of this name; rename yours"},
        {Backend::torch, "kq_extension_0.so",
         "kq_extension_0.so: the build makes a file of this name; rename yours"}}) {
    EXPECT_EQ(judged(backend, {{entry, "text"}, {"k.json", "{}"}}), std::string("build_failed: ") + message);
  }
  EXPECT_EQ(judged(Backend::torch, {{"k.py", "class ModelNew: pass\n"},
                                    {"definition.json", "{}"},
                                    {"notes.md", "# Notes\n"},
                                    {"own.cuh", "#pragma once\n"},
                                    {"data.txt", "1 2 3"}}),
            "nothing");
}

TEST(FileGuard, what_a_build_reports_is_left_to_the_build) {
  EXPECT_EQ(judged(Backend::torch, {}), "nothing");
  Lease lease = lease_of(Backend::torch, {{"k.py", "class ModelNew: pass\n"}});
  lease.blobs.clear();
  EXPECT_EQ(judged(lease), "nothing");
}

// A file may have 1 MiB.
TEST(FileGuard, a_contract_of_many_elements_is_read_in_time_that_grows_with_its_length) {
  std::string list = "[";
  while (list.size() < kFileBytesMax - 8) list += "{},";
  EXPECT_EQ(judged(Backend::cuda, {{"k.cu", "int a;"}, {"k.json", list + "{}]"}}), "nothing");
}

TEST(FileGuard, judging_ends_with_its_time) {
  std::vector<ReviewFinding> for_review;
  const Lease lease = lease_of(Backend::torch, {{"k.py", "class ModelNew: pass\n"}});
  const auto verdict = judge_files(lease, {.end_ms = sys::monotonic_now_ms() - 1, .limit_ms = 100}, for_review);
  ASSERT_TRUE(verdict && *verdict);
  EXPECT_EQ(name_of(**verdict), VerdictName::timed_out);
  EXPECT_EQ(evidence_of(**verdict)->message, "the build took longer than 100 ms");
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(judge_files(lease, {.stop = stop.get_token(), .end_ms = sys::monotonic_now_ms() + 60'000}, for_review));
}

}  // namespace
}  // namespace kq::worker
