#include "tests/sim/workload.h"

#include "tests/sim/timeline.h"

namespace kq::sim {
namespace {

constexpr std::uint64_t kProblems = 3;
constexpr std::string_view kPoison = "poison";

producer::FileRef text_file(const std::string& name, const std::string& text) {
  return {.name = name, .path = name, .text = text};
}

// Draws requirements that some worker always meets.
void draw_needs(Random& random, const WorkloadProfile& profile, Submission& job) {
  if (profile.devices) {
    job.device = static_cast<DeviceWish>(random.below(3));
    if (job.device == DeviceWish::cuda && random.chance(0.5)) job.gpu_model = random.chance(0.5) ? "H200" : "A100";
  }
  if (!profile.labels || !random.chance(0.2)) return;
  if (job.device == DeviceWish::cuda) job.backend = Backend::triton;
  if (job.device == DeviceWish::any) job.labels = {"large"};
}

// Returns a time during the faults or soon after.
std::int64_t some_time(Random& random) {
  return Timeline::kBeginMs + random.between(1, 45'000);
}

void draw_times(Random& random, Submission& submission) {
  if (random.chance(0.3)) submission.not_before_ms = some_time(random);
  if (random.chance(0.3)) submission.deadline_ms = some_time(random);
  const bool never = submission.deadline_ms != 0 && submission.deadline_ms <= submission.not_before_ms;
  if (never) submission.not_before_ms = 0;
}

}  // namespace

WorkloadProfile draw_workload_profile(Random& random) {
  WorkloadProfile profile;
  if (random.chance(0.3)) profile = {.sources = 100, .jobs_per_order_max = 12};
  profile.devices = random.chance(0.7);
  profile.priorities = random.chance(0.5);
  profile.labels = random.chance(0.5);
  profile.times = random.chance(0.5);
  return profile;
}

producer::Prepared draw_order(Random& random, const WorkloadProfile& profile, const std::string& submitter,
                              std::size_t number) {
  producer::Prepared order;
  order.run = "run " + std::to_string(random.below(2));
  order.submitter = submitter;
  const auto job_count = random.between(1, profile.jobs_per_order_max);
  for (std::int64_t i = 0; i < job_count; ++i) {
    const std::string source =
        std::string(random.chance(0.05) ? kPoison : "source") + " " + std::to_string(random.below(profile.sources));
    const std::string problem = "problem " + std::to_string(random.below(kProblems));
    producer::PackedJob job;
    // Users have the same labels, and the last submission of a label gets the row of the run.
    job.submission.label = source + " of order " + std::to_string(number) + "." + std::to_string(i);
    job.submission.files = {{"kernel.py", sha256(source)}};
    job.submission.problem.name = problem;
    job.submission.problem.file = "problem.py";
    job.submission.problem.hash = sha256(problem);
    if (random.chance(0.3)) job.submission.problem.precision = Precision::fp16;  // a job of another leaderboard
    draw_needs(random, profile, job.submission);
    if (profile.priorities && random.chance(0.5)) job.submission.priority = static_cast<Priority>(random.below(3));
    if (profile.times) draw_times(random, job.submission);
    job.files = {text_file("kernel.py", source), text_file("problem.py", problem)};
    order.jobs.push_back(std::move(job));
  }
  return order;
}

VerdictName verdict_of(const Lease& lease) {
  switch (lease.submission.files[0].hash.bytes[0] % 8) {
    case 0:
      return VerdictName::wrong_answer;
    case 1:
      return VerdictName::build_failed;
    case 2:
      return lease.device.kind == DeviceKind::cpu ? VerdictName::compiled_only : VerdictName::passed;
    case 3:
      return lease.device.memory_bytes < 100 ? VerdictName::too_large : VerdictName::passed;
    default:
      return VerdictName::passed;
  }
}

bool is_poison(const Submission& submission) {
  return submission.label.starts_with(kPoison);
}

BuildObject object_of(const Submission& submission, const DeviceInfo& device) {
  const Hash key = submission_key(submission);
  const std::string bytes = "object of " + to_hex(key) + " for " + std::string(to_string(device.kind)) + device.arch;
  return {.kind = device.kind, .arch = device.arch, .key = key, .hash = sha256(bytes), .bytes = bytes};
}

std::string tag_of(const LeaseId& lease) {
  return std::to_string(lease.seq) + "/" + std::to_string(lease.attempt);
}

std::vector<std::int64_t> samples_of(const LeaseId& lease) {
  return {static_cast<std::int64_t>(lease.seq), static_cast<std::int64_t>(lease.attempt)};
}

std::string tag_in(const Result& result) {
  if (!result.log.empty()) return result.log;
  const Evidence* evidence = evidence_of(result.verdict);
  return evidence == nullptr ? "" : evidence->message;
}

}  // namespace kq::sim
