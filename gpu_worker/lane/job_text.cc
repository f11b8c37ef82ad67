#include "gpu_worker/lane/job_text.h"

#include <algorithm>

#include "gpu_worker/lane/kernels_ran.h"
#include "gpu_worker/machine/scratch.h"

namespace kq::worker {

bool may_use_driver_code(const Lease& lease) {
  return names_any(lease, {"cudnn.benchmark", "scaled_dot_product"});
}

bool may_use_compiler(const Lease& lease) {
  return lease.submission.trials.baseline == Baseline::compile || names_any(lease, {"torch.compile", "torch._dynamo"});
}

bool brings_kernels(const Lease& lease) {
  return std::ranges::any_of(lease.submission.files, [&](const SourceFile& file) {
    const auto text = file_of(lease, file.hash);
    return text && has_kernels(file.name, *text);
  });
}

WarmUpsBeside warm_ups_beside(const Lease& lease) {
  if (lease.submission.backend == Backend::eval_program) return WarmUpsBeside::none;
  const bool measures =
      may_use_compiler(lease) || names_any(lease, {"benchmark", "autotune", "do_bench", "elapsed_time", "ElapsedTime",
                                                   "perf_counter", "time.time", "monotonic"});
  return measures ? WarmUpsBeside::contexts : WarmUpsBeside::contexts_and_kernels;
}

}  // namespace kq::worker
