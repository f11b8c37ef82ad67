#include "gpu_worker/lane/job_text.h"

#include <gtest/gtest.h>

#include <string>

#include "core/bytes/hash.h"

namespace kq::worker {
namespace {

Lease lease_of(const std::string& kernel, const std::string& problem = "") {
  Lease lease;
  lease.submission.files = {{.name = "kernel.py", .hash = sha256(kernel)}};
  lease.submission.problem.hash = sha256(problem);
  lease.blobs = {{sha256(kernel), kernel}, {sha256(problem), problem}};
  return lease;
}

TEST(may_use_driver_code, is_true_of_jobs_that_name_a_search_or_attention) {
  EXPECT_FALSE(may_use_driver_code(lease_of("y = x + 1", "torch.backends.cudnn.allow_tf32 = False")));
  EXPECT_TRUE(may_use_driver_code(lease_of("torch.backends.cudnn.benchmark = True")));
  EXPECT_TRUE(may_use_driver_code(lease_of("y = x + 1", "F.scaled_dot_product_attention(q, k, v)")));
}

TEST(may_use_compiler, is_true_of_jobs_that_name_it_or_compare_with_a_compiled_reference) {
  EXPECT_FALSE(may_use_compiler(lease_of("y = x + 1")));
  EXPECT_TRUE(may_use_compiler(lease_of("f = torch.compile(g)")));
  Lease compared = lease_of("y = x + 1");
  compared.submission.trials.baseline = Baseline::compile;
  EXPECT_TRUE(may_use_compiler(compared));
}

TEST(brings_kernels, is_true_of_a_submission_with_kernels) {
  EXPECT_FALSE(brings_kernels(lease_of("y = x + 1", "import triton\n@triton.jit\ndef f(): pass\n")));
  EXPECT_TRUE(brings_kernels(lease_of("import triton\n@triton.jit\ndef f(): pass\n")));
}

TEST(warm_ups_beside, are_fewer_beside_code_that_measures_times) {
  EXPECT_EQ(warm_ups_beside(lease_of("y = x + 1")), WarmUpsBeside::contexts_and_kernels);
  for (const char* measures : {"@triton.autotune(configs)", "torch.backends.cudnn.benchmark = True",
                               "start.elapsed_time(end)", "f = torch.compile(g)", "time.perf_counter()"})
    EXPECT_EQ(warm_ups_beside(lease_of(measures)), WarmUpsBeside::contexts) << measures;
  Lease program = lease_of("y = x + 1");
  program.submission.backend = Backend::eval_program;
  EXPECT_EQ(warm_ups_beside(program), WarmUpsBeside::none);
}

}  // namespace
}  // namespace kq::worker
