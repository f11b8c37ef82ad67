#include "gpu_worker/lane/children.h"
#include "gpu_worker/child/runtime/audit.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <span>

#include "gpu_worker/lane/eval_program.h"
#include "gpu_worker/zygote/packets.h"
#include "sys/clock.h"
#include "sys/printable.h"

namespace kq::worker {
namespace {

constexpr std::uint64_t kScratchBytes = 1ull << 30;  // the limit of a child's /tmp and work/
// The time limit of each step of reaping a child: the kill, which its pid namespace extends to all its processes; its
// control group, which is frozen, killed and empty (harness/sandbox/cgroup.py, EMPTY_LIMIT_S); its directory. A step
// that takes longer quarantines the lane. A fork bomb on a loaded machine takes about 10 s.
constexpr std::int64_t kReapLimitMs = 60'000;
constexpr std::int64_t kWarmLimitMs = 60'000;  // CUDA context initialisation on a loaded machine
constexpr int kMessagesMax = 32;               // that a child sends during its warm-up
// The longest that an offer waits until kernels may be loaded, that the reaper waits until the judge does not prepare
// trials, and that children which warm up take to end.
constexpr std::int64_t kTurnLimitMs = 5'000;
constexpr auto kTurnPollInterval = std::chrono::milliseconds(1);
// Places in the WarmUpPage: one for each fork thread and one for the reaper. The warm-up of a child that a job waits
// for has no place, and the judge is not told of it.
constexpr std::size_t kReaperPlace = kForkThreads;
constexpr std::size_t kNoPlace = channel::kWarmUpsMax;
// With a lower limit of host memory there is no room for the libraries that children start, about half a GiB
// (harness/kernels/kernel_loading.py).
constexpr std::uint64_t kLoadingHostBytes = 2ull << 30;
// Python children that wait on a GPU with so much memory, and on other devices. The six, with half as many references
// and launchers, have 6 GiB.
constexpr std::uint64_t kManyAheadBytesMin = 64ull << 30;
constexpr std::uint32_t kManyAhead = 6, kFewAhead = 3;
constexpr std::int64_t kStopPollMs = 20;   // how often a wait for a child's end looks for a stop
constexpr std::size_t kLogTextMax = 400;   // of the log of a child that has failed
constexpr std::size_t kSlotsReserved = 4;  // that forking ahead leaves free for children that are wanted now

bool is_submission(ChildRole role) {
  return role == ChildRole::submission || role == ChildRole::profile || role == ChildRole::eval_program;
}

// Makes a pipe whose ends do not block: a child that writes more than fits loses the rest.
Expected<std::pair<sys::Fd, sys::Fd>> pipe_for_lines() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return our_fault("cannot make a pipe for an audit");
  (void)::fcntl(ends[1], F_SETPIPE_SZ, static_cast<int>(runtime::kAuditPipeBytes));  // else it holds 64 KiB
  return std::pair{sys::Fd(ends[0]), sys::Fd(ends[1])};
}

constexpr std::array kKinds{ChildKind::python, ChildKind::launcher, ChildKind::reference};
static_assert(kKinds.size() == kChildKinds);
constexpr std::array kKindOfForkThread{ChildKind::python,    ChildKind::launcher,  ChildKind::reference,
                                       ChildKind::python,    ChildKind::reference, ChildKind::python,
                                       ChildKind::reference, ChildKind::python};
static_assert(kKindOfForkThread.size() == kForkThreads);

bool can_profile(ChildRole role) {
  return role == ChildRole::profile || role == ChildRole::eval_program;
}

std::size_t index(ChildKind kind) {
  return static_cast<std::size_t>(kind);
}

// Waits until a child has ended with exit code 0. Fails where the child ends otherwise, after the limit, and after a
// stop.
Expected<void> await_success(const LaneChild& child, std::int64_t limit_ms, const std::stop_token& stop) {
  const std::int64_t deadline_ms = sys::monotonic_now_ms() + limit_ms;
  while (sys::monotonic_now_ms() < deadline_ms) {
    KQ_TRY_VALUE(const auto status, child.zygote->wait(child.id, kStopPollMs));
    if (status == 0) return {};
    if (status)
      return our_fault((*status & kKilledForMemory) != 0 ? "a child needed too much memory" : "a child failed");
    if (stop.stop_requested()) return our_fault("a child was stopped");
  }
  return our_fault("a child took longer than " + std::to_string(limit_ms / 1000) + " s");
}

}  // namespace

ChildKind kind_of(Backend backend, DeviceKind device) {
  return backend == Backend::cuda && device == DeviceKind::cuda ? ChildKind::launcher : ChildKind::python;
}

ChildKind kind_of_references(DeviceKind device) {
  return device == DeviceKind::cuda ? ChildKind::reference : ChildKind::python;
}

std::uint32_t children_ahead_for(const DeviceInfo& device) {
  return device.kind == DeviceKind::cuda && device.memory_bytes >= kManyAheadBytesMin ? kManyAhead : kFewAhead;
}

Children::Children(ChildrenOptions options, channel::WarmUpPage& warm_ups, GetZygote zygote, Inspect inspect)
    : options_(std::move(options)),
      warm_ups_(warm_ups),
      zygote_(std::move(zygote)),
      inspect_(std::move(inspect)),
      used_{true},  // Python children are kept from the beginning
      reaper_([this] { reap_all(); }) {
  static_assert(kReaperPlace < channel::kWarmUpsMax);
  for (std::size_t i = 0; i < kForkThreads; ++i) fork_threads_[i] = std::thread([this, i] { fork_ahead(i); });
}

Children::~Children() {
  stop();
  for (std::thread& thread : fork_threads_) thread.join();
  {
    const std::lock_guard lock(mutex_);
    for (auto& waiting : ready_) {
      for (LaneChild& child : waiting) kill_and_queue(std::move(child));
    }
    closed_ = true;
    changed_.notify_all();
  }
  reaper_.join();
}

void Children::stop() {
  const std::lock_guard lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

Expected<LaneChild> Children::take(ChildRole role, ChildKind kind, const Lease& lease, const Built* built) {
  if (role == ChildRole::calibrator) {
    const std::lock_guard lock(mutex_);
    calibrated_[index(kind)] = true;
  }
  const bool is_warmed_up = role != ChildRole::eval_program;  // whose processes use the device, not the child itself
  auto child = is_warmed_up ? warm_child(role, kind) : fork(kind, role, lease.submission.problem.device_count);
  if (!child) return child;
  const auto assigned = [&]() -> Expected<void> {
    if (role != ChildRole::calibrator) {
      if (auto put = put_sources(child->scratch, lease, is_submission(role)); !put) return put;
    }
    if (built != nullptr) {
      if (auto put = child->scratch.put_all(built->dir); !put) return put;
    }
    if (kind == ChildKind::launcher) return {};  // a launcher needs no assignment
    if (role == ChildRole::eval_program)
      return sys::send_packet(child->channel.get(), eval_assignment(lease.submission, problem_file(lease)));
    return sys::send_packet(child->channel.get(), assignment(role, lease.submission, problem_file(lease)));
  }();
  if (assigned) return child;
  retire(std::move(*child));
  return failure(assigned.error());
}

Expected<LaneChild> Children::waiting_or_new(ChildRole role, ChildKind kind) {
  if (role == ChildRole::profile) return fork(kind, role);
  if (auto waiting = take_waiting(kind)) return std::move(*waiting);
  if (kind != ChildKind::reference) return fork(kind);
  if (auto waiting = take_waiting(ChildKind::python)) return std::move(*waiting);
  return fork(ChildKind::python);
}

// A child is cold if a dying child still has the device's memory, so a second one is tried after these are reaped.
Expected<LaneChild> Children::warm_child(ChildRole role, ChildKind kind) {
  for (bool is_second = false;; is_second = true) {
    auto child = waiting_or_new(role, kind);
    if (!child) return child;
    if (auto warm = wait_until_warm(*child, kNoPlace); !warm) {
      retire(std::move(*child));
      return failure(warm.error());
    }
    if (!child->is_cold || is_second) return child;
    retire(std::move(*child));
    wait_until_reaped();
  }
}

void Children::expect(ChildKind kind, bool uses_compiler) {
  const std::lock_guard lock(mutex_);
  used_[index(kind)] = true;
  if (uses_compiler) wants_compiler_ = true;
  changed_.notify_all();
}

// Returns a waiting child that is alive; others were killed by a kernel without memory or with their zygote. Waits for
// a child that is being forked ahead, because a new one would begin later and compete with its warm-up. Does not wait
// for a reference, whose warm-up takes longer than it saves.
std::optional<LaneChild> Children::take_waiting(ChildKind kind) {
  std::unique_lock lock(mutex_);
  used_[index(kind)] = true;
  failed_[index(kind)] = false;
  auto& waiting = ready_[index(kind)];
  for (;;) {
    ++waiters_[index(kind)];
    changed_.notify_all();
    changed_.wait(lock, [&] {
      return !waiting.empty() || forking_[index(kind)] == 0 || stopped_ || kind == ChildKind::reference;
    });
    --waiters_[index(kind)];
    if (waiting.empty()) return std::nullopt;
    LaneChild child = std::move(waiting.front());
    waiting.pop_front();
    changed_.notify_all();
    const auto exit = child.zygote->wait(child.id, 0);
    if (exit && !*exit && (kind == ChildKind::launcher || !is_outdated(child))) return child;
    kill_and_queue(std::move(child));
  }
}

// An eval program has a process of its own for each device, and each imports torch.
std::uint64_t Children::host_bytes_of(ChildRole role, std::uint32_t device_count) const {
  if (role == ChildRole::driver_cache) return std::max(options_.host_bytes_max, kDriverCacheHostBytes);
  return options_.host_bytes_max * (role == ChildRole::eval_program ? 1 + device_count : 1);
}

// Returns the value of CUDA_VISIBLE_DEVICES for a child; empty for a child that sees the first GPU alone.
std::string Children::gpus_of(ChildRole role, std::uint32_t device_count) const {
  std::string list;
  if (role != ChildRole::eval_program) return list;
  for (const std::string& uuid :
       std::span(options_.gpus).first(std::min<std::size_t>(device_count, options_.gpus.size())))
    list += (list.empty() ? "" : ",") + uuid;
  return list;
}

Expected<LaneChild> Children::fork(ChildKind kind, ChildRole role, std::uint32_t device_count) {
  KQ_TRY_VALUE(auto zygote, zygote_());
  KQ_TRY_VALUE(const auto slot, free_slot());
  const auto forked = [&]() -> Expected<LaneChild> {
    const std::uint32_t uid = options_.first_uid == 0 ? 0 : options_.first_uid + static_cast<std::uint32_t>(slot);
    KQ_TRY_VALUE(auto scratch, Scratch::make(options_.scratch, "child" + std::to_string(slot), uid));
    KQ_TRY_VALUE(auto log, sys::LogPump::open());
    KQ_TRY_VALUE(auto ends, sys::packet_pair());
    std::pair<sys::Fd, sys::Fd> audit;
    const std::string code =
        kind != ChildKind::launcher && options_.driver_cache ? options_.driver_cache->folder() : std::string();
    const bool is_audited = options_.audits && kind == ChildKind::python && role == ChildRole::ready;
    if (is_audited) {
      KQ_TRY_VALUE(auto made, pipe_for_lines());
      audit = std::move(made);
    }
    const auto id = zygote->fork({.role = role,
                                  .backend = kind == ChildKind::launcher ? Backend::cuda : Backend::torch,
                                  .dir = scratch.dir(),
                                  .uid = uid,
                                  .entry = {},
                                  .problem = {},
                                  .arch = options_.arch,
                                  .shared = code,
                                  .gpus = gpus_of(role, device_count),
                                  .device_count = device_count,
                                  .host_bytes = host_bytes_of(role, device_count),
                                  .scratch_bytes = kScratchBytes * device_count,
                                  .window_bytes = options_.window_bytes_max,
                                  .profiler = can_profile(role) ? options_.profiler : std::string(),
                                  .audit = is_audited,
                                  .compiler = wants_compiler_},
                                 log.second.get(), ends.second.get(), audit.second.get());
    if (!id) return failure(id.error());
    return LaneChild{zygote,
                     *id,
                     slot,
                     std::move(scratch),
                     std::move(log.first),
                     std::move(ends.first),
                     std::move(audit.first),
                     !code.empty()};
  };
  auto child = forked();
  if (!child) {
    const std::lock_guard lock(mutex_);
    slots_[slot] = false;
  }
  return child;
}

// Serves the warm-up protocol of a child until it says "warm" or "cold". It says "asks" before it uses the device and
// gets "go" as the answer, and "offers" before a part that may be skipped. `place` in the page is marked while the
// child may use the device.
Expected<void> Children::wait_until_warm(LaneChild& child, std::size_t place) {
  const auto warm = [&]() -> Expected<void> {
    for (int messages = 0; !child.is_warm; ++messages) {
      auto message = sys::receive_packet(child.channel.get(), kWarmLimitMs);
      if (!message || messages == kMessagesMax) return our_fault("a child died before it was warm");
      if (!*message) return our_fault("a child was not warm after " + std::to_string(kWarmLimitMs / 1000) + " s");
      child.is_cold = (*message)->bytes == "cold";
      child.is_warm = child.is_cold || (*message)->bytes == "warm";
      const bool is_offer = (*message)->bytes == "offers";
      if (!is_offer && (*message)->bytes != "asks") continue;
      const bool may_begin = place == kNoPlace ? !is_offer : await_turn(place, is_offer);
      if (!may_begin && !is_offer) return our_fault("no child is to wait now");
      KQ_TRY(sys::send_packet(child.channel.get(), may_begin ? "go" : "skip"));
    }
    return {};
  }();
  if (place != kNoPlace) warm_ups_.set_running(place, false);
  return warm;
}

// Waits until the child of fork thread `place` may begin a part of its warm-up, or a job waits for the child, and marks
// the place. Returns whether the child begins that part. It leaves out the loading of kernels, which is an offer, where
// a job waits for it, after the time limit, and where the host's memory is small; its place is then marked as well,
// because CUPTI starts. It makes no context where no child is to wait.
bool Children::await_turn(std::size_t place, bool is_offer) {
  std::unique_lock lock(mutex_);
  const ChildKind kind = kKindOfForkThread[place];
  const auto is_allowed = [&] {
    if (!is_offer) return allowed_ != WarmUpsBeside::none;
    return allowed_ == WarmUpsBeside::contexts_and_kernels && warm_ups_.is_untimed();
  };
  const auto may_begin = [&] { return is_allowed() || is_awaited(kind) || !keeps_waiting_; };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kTurnLimitMs);
  const auto is_over = [&] { return is_offer && std::chrono::steady_clock::now() > deadline; };
  // The mark comes before the last look: either this sees that calls are timed, or the judge sees the mark.
  do {
    if (!may_begin()) warm_ups_.set_running(place, false);
    while (!may_begin() && !stopped_ && !is_over()) changed_.wait_for(lock, kTurnPollInterval);
    warm_ups_.set_running(place, true);
  } while (!may_begin() && !stopped_ && !is_over());
  if (stopped_ || (!keeps_waiting_ && !is_awaited(kind))) return false;
  if (!is_offer) return true;
  is_hurried_[place] = is_awaited(kind);
  return !is_hurried_[place] && is_allowed() && options_.host_bytes_max >= kLoadingHostBytes;
}

// Whether a job waits for a child of this kind, and no child is about to be ready for it.
bool Children::is_awaited(ChildKind kind) const {
  std::size_t coming = ready_[index(kind)].size();
  for (std::size_t i = 0; i < kForkThreads; ++i) coming += is_hurried_[i] && kKindOfForkThread[i] == kind ? 1 : 0;
  return std::cmp_greater(waiters_[index(kind)], coming);
}

// Waits until the judge does not prepare trials, `is_urgent` returns true or the time limit is over.
void Children::await_quiet(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_urgent) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kTurnLimitMs);
  while (warm_ups_.is_preparing() && !is_urgent() && !stopped_ && std::chrono::steady_clock::now() < deadline)
    changed_.wait_for(lock, kTurnPollInterval);
}

// Takes a free slot. Waits for the reaper if there is none.
Expected<std::size_t> Children::free_slot() {
  std::unique_lock lock(mutex_);
  auto found = slots_.end();
  changed_.wait_for(lock, std::chrono::milliseconds(kReapLimitMs),
                    [&] { return (found = std::ranges::find(slots_, false)) != slots_.end(); });
  if (found == slots_.end())
    return our_fault(std::to_string(kChildrenMax) + " children of this lane exist, and none of them ends");
  *found = true;
  return static_cast<std::size_t>(found - slots_.begin());
}

bool Children::wants_driver_cache() const {
  return options_.driver_cache && !has_tried_driver_cache_ && options_.driver_cache->folder().empty();
}

Expected<std::string> Children::make_driver_cache(const std::stop_token& stop) {
  const auto no_archive = [](const Error& error, const std::string& log) {
    return our_fault("there is no archive of the driver's code, so each job compiles that code: " + error.message +
                     (log.empty() ? "" : "; " + log));
  };
  if (!wants_driver_cache()) return std::string();
  const auto lock = options_.driver_cache->lock();
  if (!lock) return no_archive(lock.error(), {});
  if (!*lock || !options_.driver_cache->folder().empty()) return std::string();
  auto child = fork(ChildKind::python, ChildRole::driver_cache);
  if (!child) return no_archive(child.error(), {});
  const auto made = await_success(*child, kDriverCacheLimitMs, stop).and_then([&] {
    return options_.driver_cache->keep(child->scratch.out());
  });
  has_tried_driver_cache_ = !stop.stop_requested() && child->zygote->alive();
  std::string log = sys::printable(retire(std::move(*child)), kLogTextMax);
  if (!made) return no_archive(made.error(), log);
  return log;
}

void Children::replace_outdated() {
  const std::lock_guard lock(mutex_);
  for (const ChildKind kind : {ChildKind::python, ChildKind::reference}) {
    std::deque<LaneChild> kept;
    for (LaneChild& child : ready_[index(kind)]) (is_outdated(child) ? dying_ : kept).push_back(std::move(child));
    ready_[index(kind)] = std::move(kept);
  }
  changed_.notify_all();
}

void Children::keep_waiting(bool keeps) {
  std::unique_lock lock(mutex_);
  keeps_waiting_ = keeps;
  changed_.notify_all();
  if (keeps) return;
  kill_waiting();
  changed_.wait_for(lock, std::chrono::milliseconds(kTurnLimitMs), [this] {
    return stopped_ || std::ranges::all_of(forking_, [](std::size_t count) { return count == 0; });
  });
  kill_waiting();
}

void Children::kill_waiting() {
  for (auto& waiting : ready_) {
    for (LaneChild& child : waiting) kill_and_queue(std::move(child));
    waiting.clear();
  }
}

// Returns whether a child that waits was forked before the archive of the driver's code was there.
bool Children::is_outdated(const LaneChild& child) const {
  return options_.driver_cache && !child.has_driver_cache && !options_.driver_cache->folder().empty();
}

std::string Children::retire(LaneChild child) {
  child.zygote->kill(child.id);
  std::string log = child.log.so_far();
  const std::lock_guard lock(mutex_);
  kill_and_queue(std::move(child));
  return log;
}

bool Children::is_reaping() const {
  const std::lock_guard lock(mutex_);
  return reaping_ || !dying_.empty();
}

void Children::wait_until_reaped() {
  std::unique_lock lock(mutex_);
  reap_is_awaited_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return dying_.empty() && !reaping_; });
  reap_is_awaited_ = false;
}

void Children::wait_until_ready() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] {
    return stopped_ || std::ranges::none_of(
                           kKinds, [this](ChildKind kind) { return forking_[index(kind)] > 0 || needs_more(kind); });
  });
}

std::optional<std::string> Children::failure_reason() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Children::record_failure(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (!failure_ && !stopped_) failure_ = reason;
}

std::size_t Children::target_count(ChildKind kind) const {
  const std::size_t half = (options_.ahead + 1) / 2;
  switch (kind) {
    case ChildKind::python:
      return options_.ahead;
    case ChildKind::launcher:
      return options_.ahead == 0 ? 0 : half + (calibrated_[index(kind)] ? 0 : 1);
    case ChildKind::reference:
      return options_.host_bytes_max < kLoadingHostBytes ? 0 : half;
  }
  return 0;
}

// Whether another child of this kind is to be forked ahead and there is a slot for it.
bool Children::needs_more(ChildKind kind) const {
  const bool has_room = std::ranges::count(slots_, false) > static_cast<std::ptrdiff_t>(kSlotsReserved);
  return has_room && keeps_waiting_ && used_[index(kind)] && !failed_[index(kind)] &&
         ready_[index(kind)].size() + forking_[index(kind)] < target_count(kind);
}

// The function of a fork thread, which warms up one child after another.
void Children::fork_ahead(std::size_t thread) {
  const ChildKind kind = kKindOfForkThread[thread];
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopped_ || needs_more(kind); });
    if (stopped_) return;
    ++forking_[index(kind)];
    lock.unlock();
    auto child = fork(kind);
    const bool is_warm = child && wait_until_warm(*child, thread) && !child->is_cold;
    lock.lock();
    --forking_[index(kind)];
    is_hurried_[thread] = false;
    // A job that wants a child forks one itself and gets the error.
    failed_[index(kind)] = !is_warm && keeps_waiting_;
    if (is_warm) {
      ready_[index(kind)].push_back(std::move(*child));
    } else if (child) {
      kill_and_queue(std::move(*child));
    }
    changed_.notify_all();
  }
}

// The function of the reaper thread.
void Children::reap_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !dying_.empty() || closed_; });
    if (dying_.empty()) return;
    LaneChild child = std::move(dying_.front());
    dying_.pop_front();
    reaping_ = true;
    lock.unlock();
    reap(std::move(child));
    lock.lock();
    reaping_ = false;
    changed_.notify_all();
  }
}

void Children::retire_when_quiet(LaneChild child) {
  const std::lock_guard lock(mutex_);
  dying_.push_back(std::move(child));
  changed_.notify_all();
}

void Children::kill_and_queue(LaneChild child) {
  child.zygote->kill(child.id);
  child.is_killed = true;
  dying_.push_back(std::move(child));
  changed_.notify_all();
}

void Children::reap(LaneChild child) {
  if (!child.is_killed) {
    std::unique_lock lock(mutex_);
    await_quiet(lock, [this] { return reap_is_awaited_; });
    warm_ups_.set_running(kReaperPlace, true);
    child.zygote->kill(child.id);
  }
  const auto exit = child.zygote->wait(child.id, kReapLimitMs);
  if (!child.is_killed) warm_ups_.set_running(kReaperPlace, false);
  const bool is_alive = exit && !*exit;
  if (is_alive) record_failure("a child is alive " + std::to_string(kReapLimitMs / 1000) + " s after it was killed");
  if (const int unkilled = child.zygote->unkilled_processes(child.id); unkilled > 0)
    record_failure(std::to_string(unkilled) + " processes of a child could not be killed");
  child.zygote->forget(child.id);
  if (const auto removed = child.scratch.remove(); !removed) record_failure(removed.error().message);
  if (inspect_) {
    if (const auto reason = inspect_()) record_failure(*reason);
  }
  const std::lock_guard lock(mutex_);
  slots_[child.slot] = is_alive;
  changed_.notify_all();
}

}  // namespace kq::worker
