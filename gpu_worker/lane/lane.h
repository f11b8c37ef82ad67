// A device lane: one judge, one zygote, one job at a time on one device. Sections 4 to 6 of a job's life happen here.
//
// The lane keeps its calibrators, and the reference child of the last problem; a submission child runs one job and dies
// with it. A dead judge or zygote is started again at the next job; the job that saw it die ends in an Error of ours
// and is tried again elsewhere or here.
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
#include "gpu_worker/lane/children.h"
#include "gpu_worker/lane/judge_link.h"
#include "gpu_worker/machine/gpu_lock.h"
#include "gpu_worker/machine/gpu_watch.h"
#include "gpu_worker/zygote/zygote.h"

namespace kq::worker {

// Of a judge or a zygote, in a row: their lane is quarantined then, for each costs a job an attempt.
inline constexpr int kFailedStartsMax = 3;

// One user for each child, so that none may touch another.
inline constexpr std::uint32_t kUidsPerLane = kChildrenMax;

struct LaneOptions {
  DeviceKind device = DeviceKind::cpu;
  int index = 0;
  std::string worker;  // name, for results
  std::string judge_program;
  std::vector<int> cores = {};  // that its judge keeps to; none: all of them
  ZygoteOptions zygote;
  std::string scratch;          // parent of this lane's scratch directories
  std::uint32_t first_uid = 0;  // of kUidsPerLane that are its own; 0 keeps ours
  Limits limits;
  std::function<std::unique_ptr<GpuWatch>(const DeviceInfo&)> watch =
      {};                                   // of the device; NVML for a GPU where nobody says otherwise
  std::int64_t run_limit_ms = 15 * 60'000;  // all of a run, whatever the judge says; a job may ask for less
  Bursts bursts = Bursts::doubt;            // on a GPU: they take 0.2 s
  std::uint32_t children_ahead = 2;         // forked before they are wanted (gpu_worker/lane/children.h)
  std::string profiler =
      {};  // ncu, for submissions that ask for a profile (gpu_worker/lane/profile.h); empty: there is none
  std::string profiles = {};  // parent of what it writes
  bool audits = true;         // on a GPU CUPTI listens to Python submissions (gpu_worker/lane/call_audit.h)
  std::vector<std::string> lock_dirs = {};  // where a GPU is locked against other workers
                                            // (gpu_worker/machine/gpu_lock.h); none: tests have lanes side by side
};

class Lane {
 public:
  // Opens the device. ExitCode::nothing: there is no such device here; bad_input: another worker has it.
  static Expected<std::unique_ptr<Lane>> open(LaneOptions options);
  ~Lane();

  const DeviceInfo& device() const { return device_; }
  const std::string& scratch() const { return options_.scratch; }
  // A living zygote; also what the build lane forks from. From any thread.
  Expected<std::shared_ptr<Zygote>> zygote();
  // A job of that backend comes: children of the kind that it wants are forked meanwhile. From any thread.
  void expect(Backend backend) { children_->expect(kind_of(backend, device_.kind)); }
  // One attempt, blocking. An Error is ours, or says that it was stopped: then the submission dies at once, and the
  // lane is ready for the next.
  Expected<Result> run(const Lease& lease, const Built& built, std::stop_token stop = {});
  // From any thread: kills every child of this lane. What runs, or is built from its zygote, ends at once with an
  // Error; nothing starts any more.
  void abort();
  // Until nothing is left of the last job, and the children for the next ones wait: between two jobs, for who looks at
  // what is there.
  void settle();
  // Why nothing may run here any more: something of a job did not go away, the device is not what it was, or what runs
  // jobs cannot be started. The job that was noticed with ended in an Error, and is tried again elsewhere. From any
  // thread.
  std::optional<std::string> quarantine() const;
  // Why what passed last was not audited, though it should have been; empty: it was.
  const std::string& no_audit() const { return no_audit_; }
  int judge_process() const { return judge_ ? judge_->process() : 0; }

 private:
  struct Reference {
    Hash problem;
    Precision precision = Precision::as_given;
    LaneChild child;
  };

  // A report, and what is known of the submission's child and of the device beyond it.
  struct Attempt {
    Report report;
    Software software;
    std::string sandbox;
    std::string log;
    std::string audit;  // what its pipe held
    std::optional<Conditions> conditions = std::nullopt;
    std::optional<Profile> profile = std::nullopt;  // of one under a profiler
    bool crowded = false;  // others that were dying still had memory of the device when it began
  };

  explicit Lane(LaneOptions options) : options_(std::move(options)) {}
  Expected<JudgeLink*> judge();
  Expected<JudgeLink*> living_judge();
  Expected<std::shared_ptr<Zygote>> living_zygote();
  void count_start(std::atomic<int>& failures, const char* what, const std::optional<Error>& error);
  Limits limits_for(const Submission& submission) const;
  bool is_audited(const Submission& submission) const;
  // What all attempts of one run have in common.
  struct Run {
    const Lease& lease;
    const Built& built;
    const std::stop_token& stop;
    RunTime time;
  };
  Expected<Attempt> attempt(Run& run);
  // Nothing where what is left of the run's time is too little for one like that which took `took_ms`, or was.
  Expected<std::optional<Attempt>> another_attempt(Run& run, std::int64_t took_ms);
  // `role` is submission, or profile.
  Expected<Attempt> attempt_once(Run& run, ChildRole role = ChildRole::submission);
  Profile profile(Run& run);
  void audit(const Submission& submission, Attempt& passed);
  Expected<Report> await(LaneChild& calibrator, LaneChild& submission, ChildRole submission_role, const RunTime& time,
                         const std::stop_token& stop);
  void drop(std::optional<LaneChild>& calibrator);
  void drop_calibrators();
  void drop_reference();
  void quarantine_for(const std::string& why);
  bool has_reference_for(const Lease& lease) const;

  LaneOptions options_;
  std::optional<GpuLock> lock_;  // first, as it goes last: when nothing of ours is on the GPU any more
  DeviceInfo device_;
  std::unique_ptr<JudgeLink> judge_;
  std::unique_ptr<Cleanliness> cleanliness_;
  mutable std::mutex quarantine_mutex_;
  std::optional<std::string> quarantine_;
  std::atomic<int> failed_judges_ = 0;   // starts, in a row
  std::atomic<int> failed_zygotes_ = 0;  // likewise; what forks ahead tries too and is not counted: many do for one job
  std::string no_audit_;
  std::uint64_t plans_ = 0;
  bool killed_outside_ = false;  // of this attempt's children one was, by nobody of kq
  Doubts doubts_;

  std::atomic<bool> aborted_ = false;
  std::mutex zygote_mutex_;
  std::shared_ptr<Zygote> zygote_;
  std::optional<channel::WarmUpPage> warming_;
  std::unique_ptr<Children> children_;  // before those that it takes down
  std::array<std::optional<LaneChild>, kChildKinds> calibrators_;
  std::optional<Reference> reference_;
};

}  // namespace kq::worker
