// Tests of the audit on a real GPU. Calls that libraries make by themselves are allowed. Calls of a submission are
// reported, however the submission has found the function. The guard has not read these submissions.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "gpu_worker/lane/lane.h"
#include "sys/process.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProblem = R"(
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.randn(256, 256)]
def get_init_inputs():
    return []
)";

class AuditGpuTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    root_ = fs::temp_directory_path() / ("kq-audit-gpu-" + std::to_string(::getpid()));
    fs::create_directories(root_ / "built");
    const std::string programs = sys::program_directory();
    const char* python = std::getenv("KQ_PYTHON");
    auto lane = worker::Lane::open({.device = DeviceKind::cuda,
                                    .index = 0,
                                    .worker = "test",
                                    .judge_program = programs + "/kq-judge",
                                    .zygote = {.python = python == nullptr ? "python3" : python,
                                               .harness = programs + "/../share/kq/harness",
                                               .stub = programs + "/../lib/kq/libkqstub.so",
                                               .device = DeviceKind::cuda,
                                               .device_index = 0},
                                    .scratch = root_ / "lane",
                                    .first_uid = ::geteuid() == 0 ? 61500u : 0u,
                                    .limits = {},
                                    .audits = true});
    if (!lane && lane.error().kind == ErrorKind::not_found) return;
    ASSERT_TRUE(lane) << lane.error().message;
    lane_ = std::move(*lane);
  }
  static void TearDownTestSuite() {
    lane_.reset();
    fs::remove_all(root_);
  }
  void SetUp() override {
    if (!lane_) GTEST_SKIP() << "skipped: no GPU";
  }

  static Expected<Result> run(const std::string& source, Backend backend = Backend::torch, Trials policies = {}) {
    Lease lease;
    lease.id = {1, 1};
    lease.device = lane_->device();
    lease.submission.label = "test";
    lease.submission.backend = backend;
    lease.submission.files = {{"k.py", sha256(source)}};
    lease.submission.problem.name = "relu";
    lease.submission.problem.file = "relu.py";
    lease.submission.problem.hash = sha256(kProblem);
    lease.submission.trials = {
        .correctness = 2, .warmup = 1, .timed = 5, .streams = policies.streams, .graphs = policies.graphs};
    lease.blobs = {{sha256(source), source}, {sha256(kProblem), std::string(kProblem)}};
    return lane_->run(lease, {.verdict = {}, .dir = root_ / "built"});
  }
  // scripts/gpu-check shows these lines to its reader.
  static std::string outcome_text(const std::string& name, const Expected<Result>& result) {
    std::string text = "error";
    std::string more = result ? "" : result.error().message;
    if (result) {
      const Evidence* const evidence = evidence_of(result->verdict);
      text = std::string(to_string(name_of(result->verdict)));
      if (evidence != nullptr) text += " " + evidence->reason + " " + evidence->rule;
      if (evidence != nullptr) more = evidence->message;
      if (result->sandbox.find(",audit") != std::string::npos) text += " +audit";
      if (!result->log.empty()) more += "\n      log: " + result->log;
    }
    std::printf("    %-28s %s (%lld ms) %s\n", name.c_str(), text.c_str(),
                result ? static_cast<long long>(result->times.run_ms) : 0, more.c_str());
    std::fflush(stdout);
    return text;
  }

  static fs::path root_;
  static std::unique_ptr<worker::Lane> lane_;
};
fs::path AuditGpuTest::root_;
std::unique_ptr<worker::Lane> AuditGpuTest::lane_;

std::string model(const std::string& call, const std::string& before = "pass", const std::string& init = "pass") {
  return "import ctypes, glob, os, subprocess, torch\nimport torch.nn.functional as F\n" + before +
         "\nclass ModelNew(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n        " + init +
         "\n    def forward(self, x):\n        " + call + "\n        return torch.relu(x)\n";
}

constexpr std::string_view kTriton = R"(
import torch, triton, triton.language as tl
@triton.jit
def relu(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.maximum(tl.load(x + i, i < n), 0.0), i < n)
class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        relu[(triton.cdiv(x.numel(), 1024),)](x, y, x.numel(), BLOCK=1024)
        return y
)";

// INTEGRITY: streams that torch, cuBLAS, cuDNN, cuSOLVER, cuFFT and triton create for themselves do not count as
// streams of the submission.
TEST_F(AuditGpuTest, calls_that_libraries_make_are_allowed) {
  const std::pair<std::string, std::string> calls[] = {
      {"cublas",
       "x @ x; torch.addmm(x, x, x); torch.bmm(x[None], x[None]); h = x.half(); h @ h; F.linear(h, h, h[0]); "
       "F.gelu(F.linear(h, h, h[0]))"},
      {"cudnn",
       "self.m.cuda()(x[None]); F.conv2d(x.view(1, 4, 128, 128), torch.ones(8, 4, 3, 3, device='cuda')); "
       "F.conv3d(x.view(1, 1, 16, 64, 64), torch.ones(2, 1, 3, 3, 3, device='cuda'))"},
      {"attention, fft, sparse",
       "q = x.half().view(1, 4, 256, 64); F.scaled_dot_product_attention(q, q, q, is_causal=True); torch.fft.fft2(x); "
       "torch.randn(1000, device='cuda'); torch.mm(x.to_sparse_csr(), x)"},
      {"cusolver",
       "torch.linalg.svd(x); torch.linalg.eigh(x @ x.t()); torch.linalg.inv(x[None].expand(4, 256, 256) + 300 * "
       "torch.eye(256, device='cuda')); "
       "torch.linalg.cholesky(x @ x.t() + 900 * torch.eye(256, device='cuda'))"},
      {"sort, transfers, autograd",
       "x.sort(); x.cumsum(0); x.cpu().cuda(); x.unique(); x.nonzero(); x.cpu().pin_memory().cuda(non_blocking=True); "
       "torch.set_grad_enabled(True); "
       "w = x.clone().requires_grad_(); (w @ w).sum().backward(); torch.set_grad_enabled(False); "
       "ctypes.CDLL('libcuda.so.1').cuCtxSetLimit(0, ctypes.c_size_t(4096))"},
  };
  for (const auto& [name, call] : calls) {
    EXPECT_EQ(outcome_text(name, run(model(call, "pass", "self.m = torch.nn.LSTM(256, 64, 2, batch_first=True)"))),
              "passed +audit")
        << name;
  }
  EXPECT_EQ(outcome_text("triton", run(std::string(kTriton), Backend::triton)), "passed +audit");
}

TEST_F(AuditGpuTest, calls_of_a_submission_are_reported_in_any_disguise) {
  const std::string runtime =
      "cudart = ctypes.CDLL([line.split()[-1] for line in open('/proc/self/maps') if 'libcudart' in line][0])";
  const std::string driver = "cuda = ctypes.CDLL('libcuda.so.1'); s = ctypes.c_void_p()";
  // This library is built at run time and assembles the name of the function, so no file contains that name.
  const std::string native =
      "open('x.c', 'w').write('''\n#include <dlfcn.h>\nstatic char name[] = \"dvTusfbnDsfbuf\";\n"
      "int make(void) { char* c = name; for (++c; *c; ++c) --*c; name[0] = 99; name[1] = 117; void* stream = 0;\n"
      "  int (*create)(void**, unsigned) = (int (*)(void**, unsigned))dlsym(RTLD_DEFAULT, name);\n"
      "  if (!create) create = (int (*)(void**, unsigned))dlsym(dlopen(\"libcuda.so.1\", 1), name);\n"
      "  return create ? create(&stream, 1) : -1; }\n''')\n"
      "subprocess.run(['cc', '-shared', '-fPIC', 'x.c', '-o', 'libcublas.so', '-ldl'], check=True)\n"
      "native = ctypes.CDLL(os.path.abspath('libcublas.so'))";
  // The submission waits by itself and reads memory before calls for which the child runtime waits. It does so through
  // torch only a few times, because that delays the child.
  const std::string waits =
      "import sys\nheld = torch.ones(1024, device='cuda')\nframe = sys._getframe()\n"
      "while 'runtime' not in frame.f_locals: frame = frame.f_back\n"
      "runtime = frame.f_locals['runtime']\n"
      "def wait(page, seen, limit, own=runtime.wait_go):\n    LOOK\n    return own(page, seen, limit)\nruntime.wait_go "
      "= "
      "wait";
  const auto waiting = [&](const std::string& look) { return std::string(waits).replace(waits.find("LOOK"), 4, look); };
  struct Case {
    std::string name;
    std::string source;
    std::string ending;
  };
  const Case cases[] = {
      {"python stream", model("torch.cuda.Stream()"), "rejected stream cuda_stream_create +audit"},
      {"made while loading", model("pass", "pass", "self.s = torch.cuda.Stream()"),
       "rejected stream cuda_stream_create +audit"},
      {"runtime by ctypes", model("cudart.cudaStreamCreate(ctypes.byref(ctypes.c_void_p()))", runtime),
       "rejected stream cuda_stream_create +audit"},
      {"native, computed name", model("native.make()", native), "rejected stream cuda_stream_create +audit"},
      {"graph",
       model("g = torch.cuda.CUDAGraph(); y = x.clone(); torch.cuda.synchronize(); c = torch.cuda.graph(g); "
             "c.__enter__(); y.add_(1); c.__exit__(None, None, None); g.replay()"),
       "rejected stream cuda_stream_create +audit"},
      {"host function",
       model("cuda.cuLaunchHostFunc(None, work, None)",
             driver + "; work = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: None)"),
       "rejected async host_callback +audit"},
      {"per-thread copy", model("cuda.cuMemsetD8Async_ptsz(ctypes.c_uint64(x.data_ptr()), 0, 0, None)", driver),
       "rejected stream stream_per_thread +audit"},
      {"persisting lines", model("cuda.cuCtxSetLimit(6, ctypes.c_size_t(1 << 20))", driver),
       "rejected policy persisting_l2 +audit"},
      {"copies while it waits",
       model("pass", "waits = []\n" + waiting("waits.append(0); len(waits) < 4 and held.cpu()")),
       "rejected async copy_while_waiting +audit"},
      {"copies likewise, by the driver",
       model("pass",
             driver + "; host = ctypes.create_string_buffer(4096)\n" +
                 waiting("cuda.cuMemcpyDtoH_v2(host, ctypes.c_uint64(held.data_ptr()), ctypes.c_size_t(4096))")),
       "rejected async copy_while_waiting +audit"},
      {"own context",
       model("cuda.cuCtxCreate_v2(ctypes.byref(s), 0, 0); cuda.cuCtxPopCurrent_v2(ctypes.byref(s))", driver),
       "rejected policy cuda_context +audit"},
  };
  for (const Case& one : cases) EXPECT_EQ(outcome_text(one.name, run(one.source)), one.ending) << one.name;
}

// Returns "owner: names" of the kernels that ran, for a passed submission.
std::string kernels_text(const Expected<Result>& result) {
  if (!result || !result->kernels_ran) return "unknown";
  const KernelsRan& ran = *result->kernels_ran;
  std::string text = "own " + (ran.own_share ? std::to_string(*ran.own_share) : std::string("-")) +
                     (ran.is_decoy ? " decoy" : "") + " in " + std::to_string(ran.calls) + " calls";
  for (const RanKernel& kernel : ran.kernels) {
    text += "\n      " + std::string(to_string(kernel.owner)) + " x" + std::to_string(kernel.count) + " " +
            std::to_string(kernel.ns) + " ns " + kernel.name;
  }
  std::printf("    %s\n", text.c_str());
  return text;
}

TEST_F(AuditGpuTest, the_kernels_that_ran_and_their_owners_are_known) {
  // Of the two correctness calls one is watched.
  auto ran = run(std::string(kTriton), Backend::triton);
  EXPECT_EQ(outcome_text("own kernel", ran), "passed +audit");
  EXPECT_EQ(kernels_text(ran).substr(0, 22), "own 1.000000 in 1 call");
  ran = run(model("pass"));
  EXPECT_EQ(outcome_text("torch alone", ran), "passed +audit");
  EXPECT_EQ(kernels_text(ran).substr(0, 22), "own 0.000000 in 1 call");
  ran = run(model("x @ x"));
  EXPECT_EQ(outcome_text("a library", ran), "passed +audit");
  ASSERT_TRUE(ran && ran->kernels_ran);
  EXPECT_GT(std::ranges::count(ran->kernels_ran->kernels, KernelOwner::library, &RanKernel::owner), 0);
  kernels_text(ran);
  std::string decoy(kTriton);
  decoy.replace(decoy.find("        y = torch.empty_like"), std::string::npos, "        return torch.relu(x)\n");
  ran = run(decoy, Backend::triton);
  EXPECT_EQ(outcome_text("decoy", ran), "passed +audit");
  EXPECT_EQ(kernels_text(ran).substr(0, 18), "own 0.000000 decoy");
  ran = run(model("x = torch.compile(torch.sin)(x).clamp(1, 1) * 0 + x"));
  outcome_text("torch.compile", ran);
  kernels_text(ran);
}

TEST_F(AuditGpuTest, a_policy_allows_joined_streams_and_graphs) {
  const std::string joined = model(
      "s = torch.cuda.Stream(); c = torch.cuda.current_stream(); s.wait_stream(c)\n        with torch.cuda.stream(s):\n"
      "            y = torch.relu(x)\n        c.wait_stream(s)\n        return y");
  const std::string unjoined = model(
      "s = torch.cuda.Stream(); s.wait_stream(torch.cuda.current_stream())\n        with torch.cuda.stream(s):\n"
      "            torch.cuda._sleep(200000000); y = torch.relu(x)\n        return y");
  const auto graph = [](const std::string& copy) {
    return model("if self.g is None:\n            self.x = x.clone() if " + copy +
                     " else x\n            self.g = torch.cuda.CUDAGraph()\n            "
                     "with torch.cuda.graph(self.g): self.y = torch.relu(self.x)\n        " +
                     copy + " and self.x.copy_(x)\n        self.g.replay()\n        return self.y.clone()",
                 "pass", "self.g = None");
  };
  const Trials allow{.graphs = Graphs::allow}, join{.streams = Streams::joined};
  EXPECT_EQ(outcome_text("joined, rejected", run(joined)), "rejected stream cuda_stream_create +audit");
  EXPECT_EQ(outcome_text("joined, allowed", run(joined, Backend::torch, join)), "passed +audit");
  EXPECT_EQ(outcome_text("unjoined", run(unjoined, Backend::torch, join)), "rejected stream unjoined_stream +audit");
  EXPECT_EQ(outcome_text("graph under joined", run(graph("True"), Backend::torch, join)),
            "rejected stream cuda_graph +audit");
  const auto replayed = run(graph("True"), Backend::torch, allow);
  EXPECT_EQ(outcome_text("graph, copies", replayed), "passed +audit");
  kernels_text(replayed);
  EXPECT_EQ(outcome_text("graph, old pointers", run(graph("False"), Backend::torch, allow)).substr(0, 12),
            "wrong_answer");
}

TEST_F(AuditGpuTest, a_submission_that_silences_or_refuses_the_audit_does_not_rank) {
  const std::string find =
      "cupti = ctypes.CDLL([line.split()[-1] for line in open('/proc/self/maps') if 'libcupti' in line][0])";
  EXPECT_EQ(outcome_text("unsubscribes", run(model("cupti.cuptiFinalize(); torch.cuda.Stream()", find))).substr(0, 8),
            "rejected");
  EXPECT_EQ(
      outcome_text("ends when listened to",
                   run(model("os.path.exists('/proc/self/fd/5') and int(open('/proc/self/fdinfo/5').read().split()[3], "
                             "8) & 3 == 1 and os._exit(0)"))),
      "runtime_error  ");
}

}  // namespace
}  // namespace kq::worker
