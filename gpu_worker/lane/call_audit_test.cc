#include "gpu_worker/lane/call_audit.h"

#include <gtest/gtest.h>

namespace kq::worker {
namespace {

constexpr std::string_view kOn = "on\t/usr/lib/libcupti.so.13\n";
const std::string kSite = "/opt/venv/lib/python3.12/site-packages/";

// Returns rule and reason of the rejection, or "clean".
std::string rejection_of(const std::string& lines) {
  const AuditReport report = read_audit(std::string(kOn) + lines + "heard\nheard\n", 2);
  return report.rejection ? report.rejection->rule + " " + report.rejection->reason : "clean";
}

TEST(read_audit, an_honest_child_is_clean) {
  EXPECT_EQ(rejection_of(""), "clean");
  EXPECT_TRUE(read_audit("on\tx\nheard\n", 1).is_on);
}

// On a real GPU libraries make streams through a CUDA runtime of their own or through the shared one.
TEST(read_audit, streams_that_libraries_make_for_themselves_are_allowed) {
  EXPECT_EQ(
      rejection_of("stream\t0x1\t/lib/x86_64-linux-gnu/libcuda.so.1|" + kSite + "nvidia/cu13/lib/libcudart.so.13|" +
                   kSite + "nvidia/cu13/lib/libcublasLt.so.13|" + kSite + "torch/lib/libtorch_cuda.so\n"),
      "clean");
  EXPECT_EQ(rejection_of("stream\t?\t/usr/lib/libcuda.so.1|" + kSite + "nvidia/cudnn/lib/libcudnn_adv.so.9|" + kSite +
                         "torch/lib/libtorch_cuda.so\n"),
            "clean");
}

TEST(read_audit, a_stream_of_the_submission_is_rejected_whatever_made_it) {
  for (const std::string& modules :
       {std::string("/usr/lib/libcuda.so.1|/usr/lib/x86_64-linux-gnu/libffi.so.8|/usr/bin/python3.12"),
        std::string("/usr/lib/libcuda.so.1|/usr/local/cuda/lib64/libcudart.so.13|/kq/work/torch_extensions/x/x.so"),
        "/usr/lib/libcuda.so.1|" + kSite + "torch/lib/libc10_cuda.so|" + kSite + "torch/lib/libtorch_python.so",
        std::string("/kq/work/libcublas.so.13|/usr/bin/python3.12"), std::string("/tmp/libcudnn.so"),
        std::string("libcublas.so.13"), std::string("/usr/lib/../../tmp/libcublas.so"), std::string("?"),
        std::string()}) {
    EXPECT_EQ(rejection_of("stream\t0x1\t" + modules + "\n"), "cuda_stream_create stream") << modules;
  }
}

TEST(read_audit, policies_allow_joined_streams_and_graphs) {
  const std::string stream = "stream\t0x1\t/usr/lib/libcuda.so.1|/kq/work/x.so\n";
  const std::string graph = "api\tcuGraphLaunch\t/usr/lib/libcuda.so.1|/kq/work/x.so\n";
  const auto rule = [](const std::string& lines, const AuditPolicy& policy) {
    const auto report = read_audit(std::string(kOn) + lines + "heard\n", 1, {}, policy);
    return report.rejection ? report.rejection->rule : "clean";
  };
  const AuditPolicy joined{.streams = Streams::joined}, allow{.graphs = Graphs::allow};
  EXPECT_EQ(rule(stream, joined), "clean");
  EXPECT_EQ(rule(graph, joined), "cuda_graph");
  EXPECT_EQ(rule(stream + graph, allow), "clean") << "a capture needs a stream";
  for (const AuditPolicy& policy : {joined, allow}) {
    EXPECT_EQ(rule("unjoined\t-\t/usr/lib/libcuda.so.1|/kq/work/x.so\n", policy), "unjoined_stream");
    EXPECT_EQ(rule("api\tcuMemcpyAsync_ptsz\t/kq/work/x.so\n", policy), "stream_per_thread");
    EXPECT_EQ(rule("api\tcuLaunchHostFunc\t/kq/work/x.so\n", policy), "host_callback");
    EXPECT_EQ(rule("api\tcuGraphAddHostNode\t/kq/work/x.so\n", policy), "host_callback");
    EXPECT_EQ(rule("context\t-\t/kq/work/x.so\n", policy), "cuda_context");
  }
}

TEST(read_audit, the_place_is_that_of_python_where_it_is_known) {
  const auto report = read_audit(
      std::string(kOn) + "stream\t0x1\t/lib/libcuda.so.1|/lib/libc10_cuda.so\t/kq/src/new.py:12\nheard\n", 1);
  ASSERT_TRUE(report.rejection);
  EXPECT_EQ(report.rejection->place, "new.py:12");
}

TEST(is_stream_creating_library, depends_on_the_file_name_and_the_directory) {
  EXPECT_TRUE(is_stream_creating_library("/usr/local/cuda/lib64/libcublas.so.13"));
  EXPECT_TRUE(is_stream_creating_library(
      "/opt/torch/lib/../../nvidia/cu13/lib/libcublasLt.so.13"));  // the path that torch's wheels have
  EXPECT_FALSE(is_stream_creating_library("/usr/local/cuda/lib64/libcudart.so.13"));
  EXPECT_FALSE(is_stream_creating_library("/tmp/venv/lib/libcublas.so.13"));
  EXPECT_TRUE(is_stream_creating_library("/tmp/venv/lib/libcublas.so.13", "/tmp/venv/"));
}

TEST(read_audit, the_evidence_names_flags_and_caller) {
  const auto report =
      read_audit(std::string(kOn) + "stream\t0x1\t/lib/libcuda.so.1|/kq/work/x.so|/usr/bin/python3\nheard\n", 1);
  ASSERT_TRUE(report.rejection);
  EXPECT_EQ(report.rejection->message,
            "/kq/work/x.so, called by /usr/bin/python3 created a CUDA stream with flags 0x1");
  EXPECT_EQ(report.rejection->place, "x.so");
}

TEST(read_audit, deferred_work_has_its_own_rules) {
  EXPECT_EQ(rejection_of("api\tcuGraphLaunch\t/kq/work/x.so\n"), "cuda_graph stream");
  EXPECT_EQ(rejection_of("api\tcudaLaunchHostFunc_v10000\t/kq/work/x.so\n"), "host_callback async");
  EXPECT_EQ(rejection_of("api\tcuLaunchKernel_ptsz\t/kq/work/x.so\n"), "stream_per_thread stream");
  EXPECT_EQ(rejection_of("api\tcuLaunchKernel on the per-thread stream\t/kq/work/x.so\n"), "stream_per_thread stream");
  EXPECT_EQ(rejection_of("persist\tcuCtxSetLimit\t/kq/work/x.so\n"), "persisting_l2 policy");
  EXPECT_EQ(rejection_of("context\t-\t/kq/work/x.so\n"), "cuda_context policy");
  EXPECT_EQ(rejection_of("waiting\tcuMemcpyDtoH_v2\t/usr/bin/python3\n"), "copy_while_waiting async");
}

TEST(read_audit, a_child_whose_reports_stop_is_rejected) {
  EXPECT_EQ(rejection_of("silent\n"), "profiler_tamper tamper");
  EXPECT_EQ(read_audit(std::string(kOn) + "heard\n", 2).rejection->rule, "profiler_tamper");
  EXPECT_EQ(rejection_of("silent\nstream\t0x1\t/kq/work/x.so\n"), "cuda_stream_create stream");
}

TEST(read_audit, without_cupti_nothing_is_rejected) {
  const auto off = read_audit("off\tthere is no libcupti.so\n", 2);
  EXPECT_FALSE(off.is_on);
  EXPECT_EQ(off.off, "there is no libcupti.so");
  EXPECT_FALSE(off.rejection);
  EXPECT_EQ(read_audit("", 2).off, "the child reported nothing");
}

TEST(read_audit, invalid_lines_are_ignored) {
  for (const std::string& junk :
       {std::string("\n\n\t\t\n"), std::string("stream\n"), std::string("stream\t1\t2\t3\t4\n"),
        std::string(70'000, 'x') + "\n", std::string("\0\xff\t\xfe\n", 5), std::string("wave\t1\t/kq/x\n")}) {
    EXPECT_EQ(rejection_of(junk), "clean") << junk.substr(0, 20);
  }
  EXPECT_LT(read_audit("stream\t" + std::string(9'000, '\x1b') + "\t/x\n", 0).rejection->message.size(), 700u);
}

}  // namespace
}  // namespace kq::worker
