// The pass under NVIDIA's profiler that a submission may ask for (Trials::profile), after it has passed and beside
// everything that is timed.
//
// It is an attempt like any other, of two calls, but that its submission's process is started by ncu, inside of the
// same walls (harness/profile.py). What ncu leaves in the child's out/ was written beside the submission, and is as
// hostile as anything of a child's: it is read within limits, never interpreted here beyond metrics.json, and says
// nothing about the verdict.
#pragma once

#include <cstdint>
#include <string>

#include "core/messages.h"
#include "core/plan.h"
#include "core/result.h"

namespace kq::worker {

// Where ncu is: $KQ_NCU, else in PATH, in the CUDA toolkit, or where its own package puts it. Empty: nowhere.
std::string find_ncu();

// Of such an attempt: one call to compile, tune and load in, and one to look at. Every kernel is called some forty
// times over, by ncu.
Trials profile_trials();
Limits profile_limits(Limits limits);

// Whether more lies in `out` than a profiler writes: that directory is on the host's disk, and who is profiled can
// write there.
bool is_overflowing(const std::string& out);

// What the profiler left in `out`, the files of it kept below `parent`, which is made, in a directory of the job's own.
Profile collect_profile(const std::string& out, const std::string& parent, const Lease& lease);

}  // namespace kq::worker
