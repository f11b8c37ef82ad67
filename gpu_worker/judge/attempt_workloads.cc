// The part of Judge that judges several workloads in one attempt.
#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "gpu_worker/judge/attempt.h"
#include "gpu_worker/judge/trial/certificate.h"
#include "gpu_worker/judge/workloads.h"

namespace kq::judge {
namespace {

// Adds to a timed workload what the calls have shown that checked it before: the errors and the number of right calls,
// and the suspicion, which the verdict keeps.
void add_checks(CaseResult& timed, std::span<const CaseResult> checked) {
  const auto before = std::ranges::find(checked, timed.workload, &CaseResult::workload);
  if (before == checked.end() || std::holds_alternative<Ended>(timed.verdict)) return;
  const Correctness& earlier = *correctness_of(before->verdict);
  Correctness& correctness = std::holds_alternative<Passed>(timed.verdict)
                                 ? std::get<Passed>(timed.verdict).correctness
                                 : std::get<Suspect>(timed.verdict).correctness;
  add(correctness, earlier);
  const auto* const suspect = std::get_if<Suspect>(&before->verdict);
  if (auto* const passed = std::get_if<Passed>(&timed.verdict); passed != nullptr && suspect != nullptr)
    timed.verdict = Suspect{std::move(passed->measurement), passed->correctness, suspect->evidence};
}

// Returns the largest size among the layouts of at most kTouchBytesSmall, or 0 where there are none.
std::uint64_t largest_small(std::span<const Layout> layouts) {
  std::uint64_t largest = 0;
  for (const Layout& layout : layouts) {
    if (layout.bytes() <= kTouchBytesSmall) largest = std::max(largest, layout.bytes());
  }
  return largest;
}

Evidence changed_form() {
  return evidence(
      Stage::judge, {},
      "the reference has inputs, outputs or weights of another shape or dtype when its model is constructed "
      "again");
}

// Replaces the outcome of the same workload, or appends it.
void put(CaseResult one, std::vector<CaseResult>& cases) {
  const auto place = std::ranges::find(cases, one.workload, &CaseResult::workload);
  if (place == cases.end()) {
    cases.push_back(std::move(one));
  } else {
    *place = std::move(one);
  }
}

}  // namespace

// Judges several workloads with the same children: first the outputs of every workload, then the times of those with a
// weight. A workload that does not fit into memory ends as too_large, and the others still run. Any other end stops the
// attempt.
Step<Verdict> Judge::judge_several(const Plan& plan, std::uint64_t seed, std::vector<std::uint32_t> workloads,
                                   sys::Fd channel, Preparing& preparing, Report& report) {
  KQ_TRY_VALUE(layouts_, describe_all(plan, seed, workloads, report));
  if (workloads.empty()) return combine(report.cases);
  reference_->reserve(layouts_);
  Plan certified = plan;
  if (plan.certifies) {
    KQ_TRY(certify_all(certified, seed, workloads, report));
  }
  const std::uint64_t small_bytes = largest_small(layouts_);
  std::map<std::uint32_t, std::int64_t> reference_ns;  // by workload
  std::unique_ptr<SubmissionSide> submission;
  for (const bool is_timing : {false, true}) {
    if (is_timing) {
      std::erase_if(workloads, [&](std::uint32_t workload) { return reference_->workloads()[workload].weight == 0; });
    }
    if (workloads.empty()) break;
    const Plan part = is_timing ? timing_plan(certified, workloads.size()) : check_plan(certified, workloads.size());
    if (is_timing && part.trials.timed == 0) break;
    for (const std::uint32_t workload : workloads) {
      if (!preparing) begin(preparing);
      const WorkloadRow& row = reference_->workloads()[workload];
      KQ_TRY(reference_->load(part, seed, workload));
      // The windows were made for the layouts that were described, perhaps in the attempt before.
      KQ_TRY_VALUE(const auto described, reference_->describe_once(plan, seed, workload));
      if (!fits(described, reference_->layout().tables)) return stop(VerdictName::problem_invalid, changed_form());
      const Among among{.workloads = workloads.size(),
                        .is_last = workload == workloads.back(),
                        .is_timing = is_timing,
                        .reference_ns = &reference_ns[workload],
                        .touch_bytes = reference_->layout().bytes() <= kTouchBytesSmall ? small_bytes : 0};
      if (submission) {
        KQ_TRY(submission->change_workload(part));
      } else {
        KQ_TRY_VALUE(submission, SubmissionSide::open(device_, std::exchange(channel, {}), exits_, wait_mode_, plan,
                                                      *reference_, layouts_, std::exchange(ahead_, std::nullopt)));
      }
      auto verdict = judge_workload(part, seed, workload, &among, *submission, preparing, report);
      if (!verdict && std::holds_alternative<Error>(verdict.error())) return verdict;
      CaseResult one{.workload = row.name,
                     .weight = row.weight,
                     .verdict = verdict ? std::move(*verdict) : Verdict(std::get<Ended>(verdict.error())),
                     .samples = std::exchange(report.samples, {})};
      const bool has_ended = std::holds_alternative<Ended>(one.verdict);
      add_checks(one, report.cases);
      put(std::move(one), report.cases);
      if (has_ended) return combine(report.cases);
    }
  }
  return combine(report.cases);
}

// Makes the certificate of a problem with several workloads, which all have to be loaded for that.
Step<void> Judge::certify_all(Plan& plan, std::uint64_t seed, std::span<const std::uint32_t> workloads,
                              Report& report) {
  ProblemCertificate certificate;
  for (const std::uint32_t workload : workloads) {
    const std::string& name = reference_->workloads()[workload].name;
    KQ_TRY(reference_->load(check_plan(plan, workloads.size()), seed, workload));
    KQ_TRY(certify(device_, *reference_, plan, draw_, name, certificate));
  }
  return apply(std::move(certificate), plan, report);
}

// Describes each workload, and returns the layouts of those that fit. Removes the others from `workloads`; their
// verdict too_large is in report.cases.
Step<std::vector<Layout>> Judge::describe_all(const Plan& plan, std::uint64_t seed,
                                              std::vector<std::uint32_t>& workloads, Report& report) {
  std::vector<Layout> layouts;
  std::vector<std::uint32_t> fitting;
  for (const std::uint32_t workload : workloads) {
    auto layout = reference_->describe_once(plan, seed, workload);
    if (layout) {
      fitting.push_back(workload);
      layouts.push_back(std::move(*layout));
      continue;
    }
    const auto* const ended = std::get_if<Ended>(&layout.error());
    if (ended == nullptr) return tl::unexpected(layout.error());
    const WorkloadRow& row = reference_->workloads()[workload];
    if (ended->name != VerdictName::too_large || !reference_->usable()) {
      Ended named = *ended;
      named.evidence.message = in_workload(row.name, named.evidence.message);
      return tl::unexpected(Stop(std::move(named)));
    }
    report.cases.push_back({.workload = row.name, .weight = row.weight, .verdict = *ended, .samples = {}});
  }
  workloads = std::move(fitting);
  return layouts;
}

}  // namespace kq::judge
