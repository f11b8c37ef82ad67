#include "gpu_worker/lane/triton_check.h"

#include "gpu_worker/lane/escape_check.h"

namespace kq::worker {

std::string test_triton_loop(Lane& lane, const std::string& harness) {
  const auto result = run_own_file(lane, harness + "/kernels/loop_test.py", Backend::triton);
  if (!result) return "the kernel could not be run: " + result.error().message;
  if (name_of(result->verdict) == VerdictName::passed) return {};
  const Evidence* const evidence = evidence_of(result->verdict);
  return "a kernel with a loop ended as " + std::string(to_string(name_of(result->verdict))) +
         (evidence == nullptr ? "" : ": " + evidence->message);
}

}  // namespace kq::worker
