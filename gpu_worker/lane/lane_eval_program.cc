// How a lane runs a problem's own program (gpu_worker/lane/eval_program.h).
#include "gpu_worker/core/deadlines.h"
#include "gpu_worker/lane/lane.h"
#include "gpu_worker/lane/profile.h"
#include "sys/clock.h"

namespace kq::worker {
namespace {

constexpr std::int64_t kEvalPollMs = 100;  // how often the lane checks a running program

}  // namespace

// Runs a problem's own program. The lane keeps no reference and no calibrator on the device meanwhile, because some
// programs fill its memory.
Expected<Result> Lane::run_eval_program(const Lease& lease, const Built& built, const std::stop_token& stop) {
  const std::int64_t start_ms = sys::monotonic_now_ms();
  if (const std::uint32_t needed = lease.submission.problem.device_count; needed > device_.device_count)
    return our_fault("the job needs " + std::to_string(needed) + " devices, and its lane has " +
                     std::to_string(device_.device_count));
  KQ_TRY(check_quarantine());
  KQ_TRY(this->judge());  // reports the state of the device
  KQ_TRY(this->zygote());
  const channel::ScopedMark preparing(device_.kind == DeviceKind::cuda ? &*warm_ups_ : nullptr,
                                      &channel::WarmUpPage::set_preparing, true);
  drop_reference();
  drop_calibrators();
  children_->wait_until_reaped();
  KQ_TRY_VALUE(auto child, children_->take(ChildRole::eval_program, ChildKind::python, lease, nullptr));
  const Software software = child.zygote->software();
  const std::string sandbox = child.zygote->sandbox();
  auto report = wait_for_eval(child, lease, stop);
  auto conditions = health_->conditions(judge_process());
  std::optional<Profile> profile;
  if (eval_mode(lease.submission) == EvalMode::profile) {
    profile = no_profiler();
    if (!profile) profile = collect_profile(child.scratch.out(), options_.profiles, lease);
  }
  std::string log = children_->retire(std::move(child));
  check_drivers();
  KQ_TRY(check_quarantine());
  if (!report) return failure(report.error());
  Result result{.verdict = std::move(report->verdict),
                .device = device_,
                .worker = options_.worker,
                .times = {.build_ms = built.ms, .run_ms = sys::monotonic_now_ms() - start_ms},
                .software = software,
                .sandbox = sandbox,
                .log = std::move(log),
                .samples = {}};
  result.cases = std::move(report->cases);
  result.conditions = std::move(conditions);
  result.profile = std::move(profile);
  return result;
}

Expected<EvalReport> Lane::wait_for_eval(LaneChild& child, const Lease& lease, const std::stop_token& stop) {
  const std::int64_t limit_ms = limit_of(lease.submission, options_.run_limit_ms);
  const std::int64_t end_ms = sys::monotonic_now_ms() + limit_ms;
  for (;;) {
    KQ_TRY_VALUE(const auto status, child.zygote->wait(child.id, kEvalPollMs));
    if (aborted_) return our_fault("the worker is ending");
    if (stop.stop_requested()) return our_fault("stopped");
    if (status) return eval_report(child.scratch.out(), *status, device_.kind);
    if (is_overflowing(child.scratch.out())) return eval_overflowed();
    if (sys::monotonic_now_ms() > end_ms) return eval_timed_out(limit_text(limit_ms));
  }
}

}  // namespace kq::worker
