// A device lane: one judge and one zygote for one device, on which one job runs at a time. A lane may have further
// GPUs, which only a problem's own program uses, where the problem needs several.
//
// Theory of operation. run() takes the children of an attempt (a calibrator, the reference and the submission), sends
// the judge a plan with their channels, and waits for the judge's report while it tells the judge which children have
// ended. The lane keeps its calibrators and the reference of the last problem for the next job; a submission's child
// serves one job. A judge or zygote that has died is started again at the next job; the job during which it died ends
// in an Error of ours and is tried again, here or elsewhere. A lane whose device or children misbehave is quarantined:
// it runs no job any more.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/messages.h"
#include "gpu_worker/core/limit.h"
#include "gpu_worker/core/remeasure.h"
#include "gpu_worker/core/worker.h"
#include "gpu_worker/lane/call_audit.h"
#include "gpu_worker/lane/certificates.h"
#include "gpu_worker/lane/children.h"
#include "gpu_worker/lane/driver_cache.h"
#include "gpu_worker/lane/eval_program.h"
#include "gpu_worker/lane/judge_link.h"
#include "gpu_worker/machine/gpu_lock.h"
#include "gpu_worker/machine/gpu_watch.h"
#include "gpu_worker/zygote/zygote.h"

namespace kq::worker {

// A lane is quarantined after so many failed starts of its judge or its zygote in a row, because each costs a job an
// attempt.
inline constexpr int kFailedStartsMax = 3;

// Each child runs as a user of its own, so that none can touch another.
inline constexpr std::uint32_t kUidsPerLane = kChildrenMax;

struct LaneOptions {
  DeviceKind device = DeviceKind::cpu;
  int index = 0;
  std::vector<int> further_indices = {};  // of the further GPUs; a CPU lane only counts them
  std::string worker;                     // the worker's name, for results
  std::string judge_program;
  std::vector<int> cores = {};  // processors of the judge; empty: all
  ZygoteOptions zygote;
  std::string scratch;          // parent of the lane's scratch directories
  std::uint32_t first_uid = 0;  // of kUidsPerLane users for the children; 0: all run as this process's user
  Limits limits;
  std::function<std::unique_ptr<GpuWatch>(const DeviceInfo&)> watch = {};  // empty: NVML on a GPU, nothing on a CPU
  std::int64_t run_limit_ms = 15 * 60'000;           // of a whole run; a submission may ask for less
  Bursts bursts = Bursts::doubt;                     // on a GPU; bursts take 0.2 s
  std::optional<std::uint32_t> children_ahead = {};  // ChildrenOptions::ahead; empty: as suits the device
  std::string profiler = {};       // ncu, for submissions that ask for a profile; empty: there is none
  std::string profiles = {};       // parent of the directories with profiles
  bool audits = true;              // on a GPU CUPTI observes Python submissions (gpu_worker/lane/call_audit.h)
  std::string certificates = {};   // directory of problems' certificates; empty: none are made
  std::string driver_caches = {};  // directory of the driver's code (gpu_worker/lane/driver_cache.h); empty: none
  std::vector<std::string> lock_dirs = {};  // for the lock on the GPU (gpu_worker/machine/gpu_lock.h); empty: no lock
};

class Lane {
 public:
  // Opens the device and starts judge and zygote. Fails with ErrorKind::not_found if there is no such device, and with
  // ErrorKind::bad_input if another worker has locked it.
  static Expected<std::unique_ptr<Lane>> open(LaneOptions options);
  ~Lane();

  const DeviceInfo& device() const { return device_; }
  const std::string& scratch() const { return options_.scratch; }
  // Returns the zygote, started anew if it has died. The build lane forks from it too. Thread-safe.
  Expected<std::shared_ptr<Zygote>> zygote();
  // Says that this job will come, so that children for it are forked meanwhile. Thread-safe.
  void expect(const Lease& lease);
  // Makes the archive of the driver's code where there is none (gpu_worker/lane/driver_cache.h), between two jobs.
  // Returns what the child that makes it has printed.
  Expected<std::string> make_driver_cache(const std::stop_token& stop);
  // Replaces waiting children that began before the archive was there. Thread-safe.
  void replace_outdated_children() { children_->replace_outdated(); }
  // Runs a job; blocks until its result is known. Fails if the failure is ours, or after a stop: then the submission is
  // killed at once, and the lane is ready for the next job.
  Expected<Result> run(const Lease& lease, const Built& built, const std::stop_token& stop = {});
  // Kills the zygote and with it every child. What runs, or is built from this zygote, ends at once with an Error, and
  // nothing starts any more. Thread-safe.
  void abort();
  // Waits, between two jobs, until the children of the last job are reaped and those for the next ones wait.
  void wait_until_idle();
  // Returns why the lane is quarantined, or nothing: something of a job could not be removed, the device has changed,
  // or judge or zygote cannot be started. Thread-safe.
  std::optional<std::string> quarantine() const;
  // Returns why the last job that passed was not audited although audits are on; empty if it was.
  const std::string& audit_off_reason() const { return audit_off_reason_; }
  int judge_process() const { return judge_ ? judge_->process() : 0; }

 private:
  struct Reference {
    Hash problem;
    std::string file;  // the name of the problem's file, which its code may see
    Precision precision = Precision::as_given;
    LaneChild child;
  };

  // A GPU besides the first.
  struct FurtherGpu {
    std::optional<GpuLock> lock;
    DeviceHealth health;
  };

  // What all attempts of one run have in common.
  struct Run {
    const Lease& lease;
    const Built& built;
    const std::stop_token& stop;
    RunTime time;
    std::optional<ProblemCertificate> certificate = std::nullopt;  // empty where it has to be made
  };

  // The children of one attempt. Calibrator and reference belong to the lane.
  struct AttemptChildren {
    LaneChild* calibrator = nullptr;
    LaneChild* reference = nullptr;
    LaneChild submission;
    bool fresh_calibrator = false;  // the judge does not have its channel yet
    bool fresh_reference = false;   // likewise
  };

  // Which children besides those of an attempt had memory of the device when it began.
  enum class OtherMemory { none, of_waiting, of_reaped };

  // The outcome of one attempt.
  struct Attempt {
    Report report;
    Software software;
    std::string sandbox;
    std::string log;
    std::string audit;  // the content of the audit pipe
    std::optional<Conditions> conditions = std::nullopt;
    std::optional<Profile> profile = std::nullopt;  // of an attempt under a profiler
    OtherMemory memory = OtherMemory::none;
  };

  explicit Lane(LaneOptions options) : options_(std::move(options)) {}
  Expected<std::optional<GpuLock>> lock(const DeviceInfo& device) const;
  std::unique_ptr<GpuWatch> watch(const DeviceInfo& device) const;
  // Opens and locks the further GPUs. Returns the UUIDs of all GPUs of the lane, the first GPU first.
  Expected<std::vector<std::string>> open_further_gpus();
  void check_drivers();
  std::optional<DriverCache> driver_cache(const Zygote& zygote) const;
  Expected<JudgeLink*> judge();
  Expected<JudgeLink*> living_judge();
  void end_judge();
  Expected<std::shared_ptr<Zygote>> living_zygote();
  void count_start(std::atomic<int>& failures, const char* program, const std::optional<Error>& error);
  // Whether Triton interprets the submission's kernels, because the device is a CPU.
  bool is_interpreted(const Submission& submission) const;
  Limits limits_for(const Lease& lease) const;
  void explain(Ended& ended, const Submission& submission, const std::string& log) const;
  bool is_audited(const Submission& submission) const;

  Expected<Result> run_job(const Lease& lease, const Built& built, const std::stop_token& stop);
  std::optional<ProblemCertificate> kept_certificate(const Lease& lease) const;
  Result invalid_problem(const Run& run, const Zygote& zygote) const;
  void keep_certificate(Run& run, std::optional<ProblemCertificate> made) const;
  Expected<Attempt> attempt(Run& run);
  Expected<Attempt> second_attempt(Run& run, Expected<Attempt> first, bool was_short);
  OtherMemory other_memory() const;
  // Returns nothing if the time that is left is too short for an attempt that takes `expected_ms`, or proved too short.
  Expected<std::optional<Attempt>> another_attempt(Run& run, std::int64_t expected_ms);
  // `role` is submission or profile.
  Expected<Attempt> attempt_once(Run& run, ChildRole role = ChildRole::submission);
  Expected<AttemptChildren> take_children(const Run& run, ChildRole role);
  Expected<void> replace_reference(const Lease& lease);
  Plan plan_for(const Run& run, ChildRole role, const AttemptChildren& children);
  Expected<Report> judge_children(Run& run, ChildRole role, AttemptChildren& children, JudgeLink& judge);
  Expected<Report> wait_for_report(AttemptChildren& children, ChildRole submission_role, const RunTime& time,
                                   const std::stop_token& stop);
  Expected<Result> run_eval_program(const Lease& lease, const Built& built, const std::stop_token& stop);
  // Waits for the end of an eval child and kills the child at the limit or a stop. Returns what the child reports.
  Expected<EvalReport> wait_for_eval(LaneChild& child, const Lease& lease, const std::stop_token& stop);
  // Returns a profile that says why this lane can make none, or nothing if it can.
  std::optional<Profile> no_profiler() const;
  Profile profile(Run& run);
  Profile finish_profile(const Run& run, LaneChild& submission);
  std::optional<KernelsRan> audit(const Lease& lease, Attempt& passed);

  void drop(std::optional<LaneChild>& calibrator);
  void drop_calibrators();
  void drop_reference();
  void set_quarantine(const std::string& reason);
  Expected<void> check_quarantine();
  bool has_reference_for(const Lease& lease) const;

  LaneOptions options_;
  std::optional<GpuLock> lock_;  // destroyed after the members below, which use the GPU
  DeviceInfo device_;
  std::unique_ptr<JudgeLink> judge_;
  std::unique_ptr<DeviceHealth> health_;
  std::vector<FurtherGpu> further_gpus_;
  mutable std::mutex quarantine_mutex_;
  std::optional<std::string> quarantine_;
  std::atomic<int> failed_judges_ = 0;   // starts that failed in a row
  std::atomic<int> failed_zygotes_ = 0;  // likewise, without those that fork threads tried: there are many for one job
  std::string audit_off_reason_;
  std::uint64_t plans_ = 0;
  bool killed_externally_ = false;  // a child of the last attempt was killed by something that is not kq
  RemeasurePolicy remeasure_policy_;

  std::atomic<bool> aborted_ = false;
  std::mutex zygote_mutex_;
  std::shared_ptr<Zygote> zygote_;
  std::optional<channel::WarmUpPage> warm_ups_;
  std::unique_ptr<Children> children_;  // destroyed after the children below
  std::array<std::optional<LaneChild>, kChildKinds> calibrators_;
  std::optional<Reference> reference_;
};

}  // namespace kq::worker
