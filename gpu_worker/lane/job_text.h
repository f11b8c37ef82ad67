// What the text of a job says about how it runs: which libraries and kernels it may use, and whether it measures times.
//
// The text may name what the job does not use. So each answer costs time where it is wrong, and no verdict depends on
// one.
#pragma once

#include "core/messages.h"

namespace kq::worker {

// Returns whether code of a job may have cuDNN launch kernels made from PTX: in a search, or for attention. A job with
// one of the few kernels that torch compiles itself takes 3 s longer at most, so it is not worth an archive
// (gpu_worker/lane/driver_cache.h).
bool may_use_driver_code(const Lease& lease);

// Returns whether code of a job may use torch.compile.
bool may_use_compiler(const Lease& lease);

// Returns whether a file of the submission has kernels.
bool brings_kernels(const Lease& lease);

// What children that warm up may do beside the job that runs: make contexts, which stops the GPU some ten to twenty
// times, and load kernels, for 0.3 s and more while the judge times nothing.
enum class WarmUpsBeside { contexts_and_kernels, contexts, none };
// Returns `none` for a problem's own program, which measures all the time. Returns `contexts` for code that measures in
// calls that the judge does not time, because it lets a library search for the quickest algorithm or does so itself.
WarmUpsBeside warm_ups_beside(const Lease& lease);

}  // namespace kq::worker
