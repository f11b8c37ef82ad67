// The pass under NVIDIA's profiler ncu that a submission may ask for (Trials::profile). It comes after the submission
// has passed and has no influence on its times.
//
// The pass is an attempt with two calls, whose process is started by ncu inside of the same sandbox
// (harness/profiling/profile_child.py). The files that ncu leaves in the child's out/ may come from the submission
// instead. They are read within limits, nothing of them but metrics.json is interpreted, and they do not change the
// verdict.
#pragma once

#include <cstdint>
#include <string>

#include "core/messages.h"
#include "core/plan.h"
#include "core/result.h"

namespace kq::worker {

// Returns the path of ncu: $KQ_NCU, else the first one in PATH, in the CUDA toolkit, or where its own package installs
// it. Returns an empty path if there is none.
std::string find_ncu();

// Returns the trials and limits of the attempt: one call in which the submission compiles and loads, and one that ncu
// profiles. ncu runs every kernel about forty times, so a call may take longer.
Trials profile_trials();
Limits profile_limits(Limits limits);

// Whether `out` holds more than a profiler writes. The directory is on the host's disk, and the submission can write
// there.
bool is_overflowing(const std::string& out);

// Returns the metrics from `out`, and copies the profiler's files to a new directory of the job below `parent`.
Profile collect_profile(const std::string& out, const std::string& parent, const Lease& lease);

}  // namespace kq::worker
