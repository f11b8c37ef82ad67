// Tests the sandbox of a lane before the worker takes jobs: a submission that tries to get out of its sandbox
// (harness/sandbox/self_test.py) runs there like any other job.
#pragma once

#include <string>

#include "gpu_worker/lane/lane.h"

namespace kq::worker {

// Runs a file of kq's own as a submission and as its problem. Fails where it could not run.
Expected<Result> run_own_file(Lane& lane, const std::string& path, Backend backend);

// Fails with the ways out that were found, or with the reason why the test could not run. `harness` is the directory of
// the Python harness.
Expected<void> test_sandbox(Lane& lane, const std::string& harness);

}  // namespace kq::worker
