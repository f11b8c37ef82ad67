// The pool of children in which a lane's jobs run.
//
// Theory of operation. Children are forked ahead of their jobs. A pre-forked child enters its sandbox, initialises its
// CUDA context, loads usual kernels, and waits on its channel for an assignment, which says what it is to be
// (harness/children/preforked.py); it finds its files in src/. A child serves one job and is then killed. The reaper
// thread does what takes long after that: it waits for the child's end, removes its directory and checks the device. A
// child has a slot with a directory and a user of its own until it is reaped, so that neither a dying nor a waiting
// child can be touched by the running one.
//
// Fork threads keep the wanted number of children of each kind. On a GPU they tell the judge which children are
// initialising CUDA or load kernels, and let none load kernels while the judge times calls
// (gpu_worker/channel/warm_up.h).
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/device.h"
#include "core/messages.h"
#include "gpu_worker/channel/warm_up.h"
#include "gpu_worker/core/worker.h"
#include "gpu_worker/lane/driver_cache.h"
#include "gpu_worker/lane/job_text.h"
#include "gpu_worker/machine/scratch.h"
#include "gpu_worker/zygote/zygote.h"
#include "sys/log_pump.h"

namespace kq::worker {

// The number of slots: children of one lane that exist at the same time, in use, waiting or dying.
inline constexpr std::uint32_t kChildrenMax = 24;

// What a child can become, which is decided when it is forked: `python` runs Python code, `launcher` calls device code
// on a GPU without Python, and `reference` is a Python child on a GPU that CUPTI does not observe. A calibrator has
// the kind of the children that it calibrates, because the kinds answer with different delays.
enum class ChildKind { python, launcher, reference };
inline constexpr std::size_t kChildKinds = 3;
// So many children are forked and warmed up at once: four Python ones, three references and a launcher. A warm-up takes
// two to three times as long as a short job on a GPU, and each job takes a Python child and a reference.
inline constexpr std::size_t kForkThreads = 8;
ChildKind kind_of(Backend backend, DeviceKind device);  // of a submission's child
ChildKind kind_of_references(DeviceKind device);

// Returns ChildrenOptions::ahead as suits a device. A child that waits has about half a GiB of a GPU's memory.
std::uint32_t children_ahead_for(const DeviceInfo& device);

// A forked child and what must exist as long as it does.
struct LaneChild {
  std::shared_ptr<Zygote> zygote;
  std::uint64_t id = 0;
  std::size_t slot = 0;
  Scratch scratch;
  sys::LogPump log;
  sys::Fd channel;                // the judge's end of the channel, until the judge has it
  sys::Fd audit;                  // the pipe with the reports of CUPTI, of an audited child
  bool has_driver_cache = false;  // it has begun with the driver's code
  bool is_warm = false;           // its warm-up has ended
  bool is_cold = false;           // its warm-up failed; its first answer to the judge says why
  bool exit_reported = false;     // the judge knows that the child has ended
  bool is_killed = false;
};

struct ChildrenOptions {
  std::string arch;
  std::vector<std::string> gpus = {};  // the UUIDs of the lane's GPUs; an eval child sees as many as its job needs
  std::string scratch;                 // parent of the children's directories
  std::uint32_t first_uid = 0;         // of kChildrenMax users for the children; 0: all run as this process's user
  std::uint64_t host_bytes_max = 0;
  std::uint64_t window_bytes_max = 0;
  std::string profiler = {};                     // the ncu that starts profile children (gpu_worker/lane/profile.h)
  bool audits = false;                           // CUPTI observes the Python children (gpu_worker/lane/call_audit.h)
  std::optional<DriverCache> driver_cache = {};  // the archive with which Python children begin
  // Python children to keep waiting; 0: children are forked when they are wanted. Once they were wanted, half as many
  // launchers and references are kept too, and one launcher more until there is a calibrator of that kind.
  std::uint32_t ahead = 3;
};

class Children {
 public:
  using GetZygote = std::function<Expected<std::shared_ptr<Zygote>>()>;
  // Returns what is wrong with the device, or nothing. Called on the reaper thread after each child's end.
  using Inspect = std::function<std::optional<std::string>()>;

  // `warm_ups` is shared with the judge and must outlive this object.
  Children(ChildrenOptions options, channel::WarmUpPage& warm_ups, GetZygote zygote, Inspect inspect);
  ~Children();  // kills and reaps all children

  // Returns a child for the job that has its assignment and its files: a waiting one, or one forked now. A profile
  // child and an eval child are always forked now. A reference is taken from the Python children if no reference waits.
  // A cold child is returned only if a second one, forked after all dying children were reaped, is cold too.
  Expected<LaneChild> take(ChildRole role, ChildKind kind, const Lease& lease, const Built* built);
  // Says that a job will soon want a child of this kind, and whether it may use torch.compile. Thread-safe.
  void expect(ChildKind kind, bool uses_compiler = false);
  // Says what warm-ups may do from now on, beside the job that runs. A child that a job waits for goes on in any case.
  void allow(WarmUpsBeside allowed) { allowed_ = allowed; }
  // With false: kills the children that wait, ends those that warm up, for which it waits up to 5 s, and forks none
  // ahead until it is called with true. Called by the thread that takes children, between two of them.
  void keep_waiting(bool keeps);
  // Returns whether children wait for jobs, or are warmed up for that, and have memory of the device.
  bool keeps_any() const { return options_.ahead > 0; }
  // Returns whether the archive of the driver's code is still to be made here.
  bool wants_driver_cache() const;
  // Has a child make the archive, unless another lane does, and returns what the child printed. Takes 8 to 14 s with
  // eight processes. Fails after kDriverCacheLimitMs and after a stop; each job then compiles that code.
  Expected<std::string> make_driver_cache(const std::stop_token& stop);
  // Replaces children that wait and began before the archive was there. One that is not replaced yet, because it was
  // being forked, is replaced when a job would take it.
  void replace_outdated();
  // Kills a child, queues it for the reaper and returns what it printed.
  std::string retire(LaneChild child);
  // Queues a child for the reaper, which kills it when the judge does not prepare trials. For a child that has got its
  // last command and whose memory is not needed yet; the child notices within a second that it is not wanted and ends.
  void retire_when_quiet(LaneChild child);
  // Whether retired children are not reaped yet.
  bool is_reaping() const;
  // Waits until all retired children are reaped, at once.
  void wait_until_reaped();
  // Waits until the wanted numbers of children wait for jobs.
  void wait_until_ready();
  // Returns why no child may run here any more: something of a child could not be removed, or the device has changed.
  // The first reason is kept.
  std::optional<std::string> failure_reason() const;
  // To be called before the zygote is ended, and its children with it: no child is forked any more, and their ends are
  // no failures.
  void stop();

 private:
  Expected<LaneChild> fork(ChildKind kind, ChildRole role = ChildRole::ready, std::uint32_t device_count = 1);
  std::uint64_t host_bytes_of(ChildRole role, std::uint32_t device_count) const;
  std::string gpus_of(ChildRole role, std::uint32_t device_count) const;
  Expected<LaneChild> waiting_or_new(ChildRole role, ChildKind kind);
  Expected<LaneChild> warm_child(ChildRole role, ChildKind kind);
  Expected<void> wait_until_warm(LaneChild& child, std::size_t place);
  bool await_turn(std::size_t place, bool is_offer);
  bool is_awaited(ChildKind kind) const;
  void await_quiet(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_urgent);
  std::optional<LaneChild> take_waiting(ChildKind kind);
  Expected<std::size_t> free_slot();
  void fork_ahead(std::size_t thread);
  void reap_all();
  void kill_and_queue(LaneChild child);  // requires mutex_
  void kill_waiting();                   // requires mutex_
  bool is_outdated(const LaneChild& child) const;
  void reap(LaneChild child);
  bool needs_more(ChildKind kind) const;
  std::size_t target_count(ChildKind kind) const;
  void record_failure(const std::string& reason);

  const ChildrenOptions options_;
  channel::WarmUpPage& warm_ups_;
  const GetZygote zygote_;
  const Inspect inspect_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::array<bool, kChildrenMax> slots_{};  // in use
  std::array<std::deque<LaneChild>, kChildKinds> ready_;
  std::array<bool, kChildKinds> used_{};            // kinds that were wanted at least once
  std::array<bool, kChildKinds> calibrated_{};      // kinds of which a calibrator was wanted
  std::array<std::size_t, kChildKinds> forking_{};  // children of each kind that are being forked ahead
  std::array<int, kChildKinds> waiters_{};          // callers that wait for a child of each kind
  std::array<bool, kChildKinds> failed_{};          // the last fork ahead failed: none is tried until a child is wanted
  std::array<bool, kForkThreads> is_hurried_{};     // the thread's child leaves out kernels because a job waits for it
  std::deque<LaneChild> dying_;
  std::atomic<bool> wants_compiler_ = false;  // a job was expected that may use torch.compile
  std::atomic<WarmUpsBeside> allowed_ = WarmUpsBeside::contexts_and_kernels;
  std::atomic<bool> has_tried_driver_cache_ = false;  // this lane has made the archive or failed to
  bool keeps_waiting_ = true;
  bool reaping_ = false;
  bool reap_is_awaited_ = false;
  bool stopped_ = false;
  bool closed_ = false;  // the destructor runs: no child will be retired any more
  std::optional<std::string> failure_;
  // The threads are the last members, because they start when all others exist.
  std::array<std::thread, kForkThreads> fork_threads_;
  std::thread reaper_;
};

}  // namespace kq::worker
