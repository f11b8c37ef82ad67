// Tests of a whole device lane on a real GPU: device code run by the launcher without Python, and a device that is
// clean after every job.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "gpu_worker/compile/builder.h"
#include "gpu_worker/lane/escape_check.h"
#include "gpu_worker/lane/lane.h"
#include "sys/process.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kProblem = R"(
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1
def get_inputs():
    return [torch.rand(4096)]
def get_init_inputs():
    return []
)";

constexpr std::string_view kContract = R"({"kernel_name": "plus", "args": [
  {"name": "x", "type": "tensor", "role": "input", "tensor_spec": {"shape": [4096], "dtype": "float32"}},
  {"name": "out", "type": "tensor", "role": "output", "tensor_spec": {"shape": [4096], "dtype": "float32"}},
  {"name": "n", "type": "int", "value": 4096}],
  "launch": {"grid": {"x": 16}, "block": {"x": 256}}})";

// Returns a kernel whose body is this statement for element i of n.
std::string kernel(const std::string& body) {
  return "extern \"C\" __global__ void plus(const float* x, float* out, int n) {\n  int i = blockIdx.x * blockDim.x + "
         "threadIdx.x;\n  " +
         body + "\n}\n";
}
std::string model(const std::string& body) {
  return "import os, torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        " + body + "\n";
}

class LaneGpuTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    root_ = fs::temp_directory_path() / ("kq-lane-gpu-" + std::to_string(::getpid()));
    const std::string programs = sys::program_directory();
    const char* python = std::getenv("KQ_PYTHON");
    Limits limits;
    limits.call_limit_ms = 3'000;
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
                                    .first_uid = ::geteuid() == 0 ? 61400u : 0u,
                                    .limits = limits,
                                    .driver_caches = root_ / "driver_caches"});
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

  static Lease lease_of(Backend backend, const std::vector<std::pair<std::string, std::string>>& files) {
    Lease lease;
    lease.id = {1, 1};
    lease.device = lane_->device();
    lease.submission.label = "test";
    lease.submission.backend = backend;
    lease.submission.problem.name = "plus";
    lease.submission.problem.file = "plus.py";
    lease.submission.problem.hash = sha256(kProblem);
    lease.submission.trials = {.correctness = 2, .warmup = 1, .timed = 5};
    lease.blobs = {{sha256(kProblem), std::string(kProblem)}};
    for (const auto& [name, bytes] : files) {
      lease.submission.files.push_back({name, sha256(bytes)});
      lease.blobs.push_back({sha256(bytes), bytes});
    }
    return lease;
  }
  static Expected<Result> run(const Lease& lease) {
    worker::Builder builder(
        {.scratch = root_ / "builds", .uid = ::geteuid() == 0 ? 61410u : 0u, .no_gpu_arch = "sm_90"},
        worker::BuildCache(root_ / "cache"), [](DeviceKind) { return lane_->zygote(); });
    const auto built = builder.build(lease);
    if (!built) return failure(built.error());
    if (built->verdict)
      return our_fault("the build ended it: " + std::string(to_string(name_of(*built->verdict))) + " " +
                       evidence_of(*built->verdict)->message);
    return lane_->run(lease, *built);
  }
  static Expected<Result> run_cuda(const std::string& body) {
    return run(lease_of(Backend::cuda, {{"k.cu", kernel(body)}, {"k.json", std::string(kContract)}}));
  }
  static Expected<Result> run_torch(const std::string& body) {
    return run(lease_of(Backend::torch, {{"k.py", model(body)}}));
  }

  static std::string outcome_text(const Expected<Result>& result) {
    if (!result) return "error: " + result.error().message;
    const Evidence* evidence = evidence_of(result->verdict);
    std::string text(to_string(name_of(result->verdict)));
    if (evidence != nullptr) text += " " + evidence->reason + ": " + evidence->message;
    if (!result->log.empty()) text += "\nlog: " + result->log;
    return text;
  }

  static fs::path root_;
  static std::unique_ptr<worker::Lane> lane_;
};
fs::path LaneGpuTest::root_;
std::unique_ptr<worker::Lane> LaneGpuTest::lane_;

TEST_F(LaneGpuTest, device_code_passes_without_python) {
  const auto result = run_cuda("if (i < n) out[i] = x[i] + 1.0f;");
  ASSERT_EQ(outcome_text(result).substr(0, 6), "passed") << outcome_text(result);
  const auto& measured = measurement_of(result->verdict)->submission;
  std::printf("    %s\n    median %.2f us of %zu samples\n", result->sandbox.c_str(), measured.median_ns / 1e3,
              result->samples.submission_ns.size());
}

TEST_F(LaneGpuTest, device_code_is_evaluated_like_any_other_submission) {
  EXPECT_EQ(outcome_text(run_cuda("if (i < n) out[i] = x[i] + 2.0f;")).substr(0, 18), "wrong_answer value");
  EXPECT_EQ(outcome_text(run_cuda("if (i < n - 1) out[i] = x[i] + 1.0f;")).substr(0, 12), "wrong_answer");
  EXPECT_EQ(outcome_text(run_cuda("out[i + (1ll << 40)] = x[i] + 1.0f;")).substr(0, 9), "gpu_fault");
  EXPECT_EQ(outcome_text(run_cuda("while (clock64() != -1) {}")).substr(0, 9), "timed_out");
  EXPECT_EQ(outcome_text(run_cuda("if (i < n) out[i] = x[i] + 1.0f;")).substr(0, 6), "passed");
}

TEST_F(LaneGpuTest, the_device_is_clean_after_every_job) {
  for (const std::string& body :
       {std::string("y = torch.empty(1 << 36, dtype=torch.uint8, device='cuda'); os._exit(1)"),
        std::string("y = [torch.empty(1 << 30, dtype=torch.uint8, device='cuda') for _ in range(16)]; os.abort()"),
        std::string("torch.cuda._sleep(1 << 40); return x + 1")}) {
    EXPECT_NE(outcome_text(run_torch(body)).substr(0, 6), "passed") << body;
    EXPECT_EQ(lane_->quarantine(), std::nullopt) << body;
    EXPECT_EQ(outcome_text(run_torch("return x + 1")).substr(0, 6), "passed") << "after " << body;
  }
}

TEST_F(LaneGpuTest, a_child_begins_with_the_drivers_code_and_leaves_none) {
  const std::string body =
      "found = [f for _, _, files in os.walk(os.environ['CUDA_CACHE_PATH']) for f in files]; "
      "os.makedirs(os.environ['CUDA_CACHE_PATH'], exist_ok=True); "
      "open(os.environ['CUDA_CACHE_PATH'] + '/left', 'w').close(); "
      "raise RuntimeError(f'{len(found) > 20} {\"left\" in found}')";
  const Lease lease = lease_of(Backend::torch, {{"k.py", "# torch.backends.cudnn.benchmark\n" + model(body)}});
  const auto zygote = lane_->zygote();
  ASSERT_TRUE(zygote);
  if (!are_files_protected((*zygote)->sandbox(), ::geteuid() == 0 ? 61400u : 0u))
    GTEST_SKIP() << "skipped: nothing keeps a child from the worker's files, so that no archive is made";
  const auto made = lane_->make_driver_cache({});
  ASSERT_TRUE(made) << made.error().message;
  for (int i = 0; i < 2; ++i) {
    const std::string outcome = outcome_text(run(lease));
    EXPECT_NE(outcome.find("True False"), outcome.npos) << outcome;
  }
}

// Each reference keeps more than half of the memory while it lives.
TEST_F(LaneGpuTest, large_problems_run_one_after_the_other) {
  for (int i = 0; i < 3; ++i) {
    std::string problem(kProblem);
    const std::string head = "    def __init__(self):\n        super().__init__()\n        self.held = torch.empty(" +
                             std::to_string(lane_->device().memory_bytes / 100 * 55 + static_cast<std::uint64_t>(i)) +
                             ", dtype=torch.uint8, device='cuda')\n";
    problem.insert(problem.find("    def forward"), head);
    Lease lease = lease_of(Backend::torch, {{"k.py", model("return x + 1")}});
    lease.submission.problem.hash = sha256(problem);
    lease.blobs.push_back({sha256(problem), problem});
    // The same must hold for two consecutive jobs on one problem.
    for (int job = 0; job < 2; ++job) {
      const std::string outcome = outcome_text(run(lease));
      EXPECT_EQ(outcome.substr(0, 6), "passed") << "job " << job << " of problem " << i << ": " << outcome;
    }
  }
}

TEST_F(LaneGpuTest, the_sandbox_holds_beside_a_gpu) {
  const auto held = worker::test_sandbox(*lane_, sys::program_directory() + "/../share/kq/harness");
  EXPECT_TRUE(held) << held.error().message;
}

// Checks that the driver reports memory and errors, and that the worker reads these reports.
TEST_F(LaneGpuTest, the_driver_reports_free_memory_and_errors) {
  const auto watch = worker::watch_gpu(lane_->device().uuid);
  ASSERT_TRUE(watch) << "no NVML";
  const auto ownerless = watch->unowned_bytes();
  std::printf("    memory without an owner: %s\n",
              ownerless ? (std::to_string(*ownerless >> 20) + " MiB").c_str() : "the driver does not report owners");
}

TEST_F(LaneGpuTest, a_result_describes_the_state_of_the_gpu) {
  const auto result = run_cuda("if (i < n) out[i] = x[i] + 1.0f;");
  ASSERT_EQ(outcome_text(result).substr(0, 6), "passed") << outcome_text(result);
  ASSERT_TRUE(result->conditions) << "no NVML";
  const Conditions& now = *result->conditions;
  EXPECT_GT(now.sm_clock_mhz, 0u);
  EXPECT_GT(now.memory_clock_mhz, 0u);
  EXPECT_GT(now.temperature_c, 0u);
  EXPECT_GT(now.power_w, 0);
  EXPECT_NE(now.throttle, "");
  std::printf("    SM %u MHz, memory %u MHz, %u C, %.1f W, throttle: %s, trials %lld of %lld ms\n", now.sm_clock_mhz,
              now.memory_clock_mhz, now.temperature_c, now.power_w, now.throttle.c_str(),
              static_cast<long long>(result->times.trials_us / 1'000), static_cast<long long>(result->times.run_ms));
  if (!now.foreign)
    std::printf("    the driver reports process numbers of another namespace, so foreign processes are unknown\n");
  for (const GpuProcess& one : now.foreign.value_or(std::vector<GpuProcess>())) {
    std::printf("    foreign: process %u with %llu MiB\n", one.pid, static_cast<unsigned long long>(one.memory_mib));
  }
}

}  // namespace
}  // namespace kq::worker
