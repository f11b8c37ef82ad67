// Judges the files of a submission by their names and texts, before anything runs.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "core/messages.h"
#include "core/verdict.h"
#include "gpu_worker/compile/key_locks.h"
#include "guard/guard.h"

namespace kq::worker {

// The archive of compiled Triton kernels, which a build adds to its directory (harness/sandbox/job_files.py).
inline constexpr std::string_view kTritonArchive = "kq_triton.zip";

// Returns the rules of the guard that apply to the submission of this lease.
guard::Policy policy_of(const Lease& lease);

// Judges C++ files, which can be read without a compiler, and binaries, which are not allowed. The entry file must have
// the ending of the backend's language, because the guard reads the file as that language, and no file may have the
// name of a file that the build makes. Returns the verdict on a submission that is not built, or nothing. Adds the
// guard's findings for review to `for_review`. Ends with timed_out, or an Error, when `time` is over.
Expected<std::optional<Verdict>> judge_files(const Lease& lease, const BuildTime& time,
                                             std::vector<ReviewFinding>& for_review);

}  // namespace kq::worker
