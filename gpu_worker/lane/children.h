// The children that a lane's jobs run in.
//
// Theory of operation. A child is forked ahead of its job: behind its walls, with its context, it waits on its
// channel until it is told what it is to be (its assignment, harness/children/preforked.py) and finds its files in src/. It serves
// one job and is killed; what takes time about that, until nothing of it is left, is done behind the lane's back, by
// the thread that forks the next ones. A child has a slot of its own, with a directory and a user that nobody else has
// until it is gone: neither a dying child nor a waiting one can be touched by the one that runs. On a GPU the judge is
// told who is making himself warm, and tells when nobody should begin (gpu_worker/channel/warm_up.h).
#pragma once

#include <array>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "core/messages.h"
#include "gpu_worker/channel/warm_up.h"
#include "gpu_worker/core/worker.h"
#include "gpu_worker/machine/scratch.h"
#include "gpu_worker/zygote/zygote.h"
#include "sys/log_pump.h"

namespace kq::worker {

// Children of one lane at once, whatever becomes of them: calibrators, a reference, one that runs, those that wait,
// those that die.
inline constexpr std::uint32_t kChildrenMax = 16;

// What a child can become, decided at its fork: Python; the launcher, where device code is called on a GPU without
// Python; or a reference on a GPU, Python that takes longer to be warm. A calibrator is of the kind that it calibrates,
// because either answers in its own time.
enum class ChildKind { python, launcher, reference };
inline constexpr std::size_t kChildKinds = 3;
// So many are forked and made warm at once: one of each kind, and another Python one. From its fork until it is warm
// one takes as long as a job on a GPU, and on a host with several GPUs longer, whose driver then makes their contexts
// one after the other.
inline constexpr std::size_t kForkers = 4;
ChildKind kind_of(Backend backend, DeviceKind device);  // of a submission
ChildKind kind_of_references(DeviceKind device);

// A forked child with everything that must outlive it.
struct LaneChild {
  std::shared_ptr<Zygote> zygote;
  std::uint64_t id = 0;
  std::size_t slot = 0;
  Scratch scratch;
  sys::LogPump log;
  sys::Fd channel;       // the judge's end, until the judge has it
  sys::Fd audit;         // what CUPTI says of one that it listens to
  bool is_warm = false;  // it has said so
  bool is_cold =
      false;  // it has said that it could not, which its first answer tells, or that the device's memory was full
  bool exit_told = false;  // the judge knows
  bool is_killed = false;
};

struct ChildrenOptions {
  std::string arch;
  std::string scratch;          // parent of their directories
  std::uint32_t first_uid = 0;  // of kChildrenMax that are their own; 0 keeps ours
  std::uint64_t host_bytes_max = 0;
  std::uint64_t window_bytes_max = 0;
  std::string profiler = {};  // that profile children are started by (gpu_worker/lane/profile.h)
  bool audits = false;        // CUPTI listens to the Python ones (gpu_worker/lane/call_audit.h)
  std::uint32_t ahead =
      2;  // Python children that wait, 0: each is forked when it is wanted; half as many launchers, and one reference,
          // once one was wanted; one launcher more until there is a calibrator of that kind
};

class Children {
 public:
  using GetZygote = std::function<Expected<std::shared_ptr<Zygote>>()>;
  // Looked at after each child that died: what is wrong with the device now, or nothing. On the thread that takes
  // children down.
  using Inspect = std::function<std::optional<std::string>()>;

  // `warming` is where who is making itself warm is told; it outlives this.
  Children(ChildrenOptions options, channel::WarmUpPage& warming, GetZygote zygote, Inspect inspect);
  ~Children();  // all are gone then

  // A child for this job, which knows its role and has its files; one that waits, or one forked now. One under a
  // profiler never waited. Where no reference waits, any Python child becomes it. One that is cold is given only where
  // another, made when all that were dying are gone, is so, too.
  Expected<LaneChild> take(ChildRole role, ChildKind kind, const Lease& lease, const Built* built);
  // A job wants one of this kind, but not yet. From any thread.
  void expect(ChildKind kind);
  // Kills it and returns what it printed. The rest of its end comes later, on another thread.
  std::string retire(LaneChild child);
  // The same once the judge does not prepare: of one that has had its last command, whose memory is not wanted yet. It
  // sees within a second that its judge has no use for it, and then ends by itself.
  void retire_in_time(LaneChild child);
  // Whether something may be left of those that were retired.
  bool is_taking_down() const;
  // Until nothing is, at once.
  void settle();
  // Until as many wait as are meant to.
  void await_ready();
  // Why no child may run here any more: something of one did not go away, or the device is not what it was. The first
  // reason stays.
  std::optional<std::string> complaint() const;
  // The zygote is going, and its children with it: none is forked any more, and none is found fault with.
  void stop();

 private:
  Expected<LaneChild> fork(ChildKind kind, ChildRole role = ChildRole::ready);
  Expected<LaneChild> one_of(ChildRole role, ChildKind kind);
  Expected<LaneChild> warm_one_of(ChildRole role, ChildKind kind);
  Expected<void> await_warmth(LaneChild& child, std::size_t place);
  void begin_at_good_moment(std::size_t place);
  bool is_another_beginning(std::size_t place) const;  // of the same kind
  void await_moment(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_waited_for);
  std::optional<LaneChild> ready(ChildKind kind);
  Expected<std::size_t> free_slot();
  void fork_ahead(std::size_t forker);
  void take_down_all();
  void bury(LaneChild child);
  void take_down(LaneChild child);
  bool is_short(ChildKind kind) const;
  std::size_t ahead(ChildKind kind) const;
  void complain(const std::string& why);

  const ChildrenOptions options_;
  channel::WarmUpPage& warming_;
  const GetZygote zygote_;
  const Inspect inspect_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::array<bool, kChildrenMax> slots_{};  // taken
  std::array<std::deque<LaneChild>, kChildKinds> ready_;
  std::array<bool, kChildKinds> used_{};            // kinds that were wanted at least once
  std::array<bool, kChildKinds> calibrated_{};      // kinds that were wanted for a calibrator
  std::array<std::size_t, kChildKinds> forking_{};  // so many of that kind are on their way to those that wait
  std::array<int, kChildKinds> waited_for_{};       // by so many
  std::array<bool, kChildKinds> failed_{};          // the last fork ahead did: none is tried until one was wanted
  std::deque<LaneChild> dying_;
  bool taking_down_ = false;
  bool is_settling_ = false;  // somebody waits until all are gone
  bool stopped_ = false;
  bool closed_ = false;  // nobody retires any more
  std::optional<std::string> complaint_;
  std::array<std::thread, kForkers> forkers_;  // last, these and the next: they start when everything above is there
  std::thread undertaker_;
};

}  // namespace kq::worker
