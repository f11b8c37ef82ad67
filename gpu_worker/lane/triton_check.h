// Tests triton on a lane: a small kernel with a loop over an argument (harness/kernels/loop_test.py) runs there like
// any other job. Without a GPU triton's interpreter runs it, which not every pair of triton and numpy allows
// (triton-lang/triton#9171).
#pragma once

#include <string>

#include "gpu_worker/lane/lane.h"

namespace kq::worker {

// Returns why the kernel did not pass, in one sentence; empty where it passed. `harness` is the directory of the Python
// harness.
std::string test_triton_loop(Lane& lane, const std::string& harness);

}  // namespace kq::worker
