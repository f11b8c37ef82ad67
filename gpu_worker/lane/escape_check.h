// Before a worker takes jobs: a submission that looks for ways out of its sandbox runs on each lane
// (harness/self_test.py), as any job would.
#pragma once

#include <string>

#include "gpu_worker/lane/lane.h"

namespace kq::worker {

// An Error says which ways out it found, or why it could not be run. `harness` is the directory of zygote.py.
Expected<void> test_sandbox(Lane& lane, const std::string& harness);

}  // namespace kq::worker
