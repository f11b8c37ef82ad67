#include "gpu_worker/lane/escape_check.h"

#include <filesystem>
#include <system_error>

#include "gpu_worker/machine/scratch.h"

namespace kq::worker {
namespace {

namespace fs = std::filesystem;

constexpr char kFile[] = "sandbox/self_test.py";
constexpr std::size_t kSourceBytesMax = 64u << 10;
constexpr Trials kTrials{.correctness = 1, .warmup = 0, .timed = 0};

Lease lease_of(const std::string& file, const std::string& source, Backend backend, const DeviceInfo& device) {
  Lease lease;
  lease.device = device;
  lease.submission.label = "self-test";
  lease.submission.backend = backend;
  lease.submission.files = {{file, sha256(source)}};
  lease.submission.problem.name = "self-test";
  lease.submission.problem.file = "problem_" + file;
  lease.submission.problem.hash = sha256(source);
  lease.submission.trials = kTrials;
  lease.blobs = {{sha256(source), source}};
  return lease;
}

}  // namespace

Expected<Result> run_own_file(Lane& lane, const std::string& path, Backend backend) {
  KQ_TRY_VALUE(const auto source, read_child_file(path, kSourceBytesMax));
  // The submission needs no build, so its build directory is empty.
  const std::string built = lane.scratch() + "/self-test";
  std::error_code error;
  fs::create_directories(built, error);
  if (error) return our_fault("cannot make " + built + ": " + error.message());
  auto result =
      lane.run(lease_of(fs::path(path).filename(), source, backend, lane.device()), {.verdict = {}, .dir = built});
  fs::remove_all(built, error);
  return result;
}

Expected<void> test_sandbox(Lane& lane, const std::string& harness) {
  const auto result = run_own_file(lane, harness + "/" + kFile, Backend::torch);
  if (!result) return our_fault("the sandbox self-test did not run: " + result.error().message);
  if (name_of(result->verdict) == VerdictName::passed) return {};
  const Evidence* evidence = evidence_of(result->verdict);
  return our_fault("the sandbox does not hold here: a job ended as " +
                   std::string(to_string(name_of(result->verdict))) +
                   (evidence == nullptr ? "" : ": " + evidence->message));
}

}  // namespace kq::worker
