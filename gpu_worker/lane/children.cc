#include "gpu_worker/lane/children.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "gpu_worker/zygote/packets.h"

namespace kq::worker {
namespace {

constexpr std::uint64_t kScratchBytes = 1ull << 30;  // of a child's /tmp and work
// The deadlines of taking a child down, step by step: it is killed, and with its namespace all that it started; its
// control group is frozen, killed and empty (harness/sandbox/cgroup.py, EMPTY_LIMIT_S); its scratch is gone; the device has its
// memory back. What misses one of them is found fault with. SIGKILL of a process with an endless kernel takes 82 ms
// until reaped. The 512 processes of a fork bomb, each with the mappings of torch, take the processors 2 s: 4 to 8 s on
// two cores with six such bombs, and once over 10 s beside other tests.
constexpr std::int64_t kReapLimitMs = 60'000;
constexpr std::int64_t kWarmLimitMs = 60'000;  // a CUDA context on a loaded machine
constexpr int kWordsMax = 16;                  // that a child says until it is warm
constexpr std::int64_t kMomentLimitMs =
    5'000;  // a submission that loads for longer is not waited for; of each part that is asked for
constexpr auto kMomentLook = std::chrono::microseconds(200);
// Places in WarmUpPage: one for each forker, and one for the end of who is retired in time; who is forked elsewhere is
// told to nobody.
constexpr std::size_t kEnding = kForkers;
constexpr std::size_t kUntold = channel::kWarmUpsMax;
constexpr std::uint64_t kReferenceHostBytes =
    2ull << 30;                          // whose limit is less has no half a GB for kernels (harness/kernels/common_kernels.py)
constexpr std::size_t kSlotsSpared = 4;  // by children that are forked ahead, for those that are wanted now

bool is_submission(ChildRole role) {
  return role == ChildRole::submission || role == ChildRole::profile;
}

// Neither end blocks: what finds no room is dropped by who writes, who is the submission's child.
Expected<std::pair<sys::Fd, sys::Fd>> pipe_for_lines() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return our_fault("pipe for an audit failed");
  return std::pair{sys::Fd(ends[0]), sys::Fd(ends[1])};
}

constexpr std::array kKinds{ChildKind::python, ChildKind::launcher, ChildKind::reference};
static_assert(kKinds.size() == kChildKinds);
constexpr std::array kKindOfForker{ChildKind::python, ChildKind::launcher, ChildKind::reference, ChildKind::python};
static_assert(kKindOfForker.size() == kForkers);

std::size_t index(ChildKind kind) {
  return static_cast<std::size_t>(kind);
}

}  // namespace

ChildKind kind_of(Backend backend, DeviceKind device) {
  return backend == Backend::cuda && device == DeviceKind::cuda ? ChildKind::launcher : ChildKind::python;
}

ChildKind kind_of_references(DeviceKind device) {
  return device == DeviceKind::cuda ? ChildKind::reference : ChildKind::python;
}

Children::Children(ChildrenOptions options, channel::WarmUpPage& warming, GetZygote zygote, Inspect inspect)
    : options_(std::move(options)),
      warming_(warming),
      zygote_(std::move(zygote)),
      inspect_(std::move(inspect)),
      used_{true},  // Python, from the beginning
      undertaker_([this] { take_down_all(); }) {
  static_assert(kEnding < channel::kWarmUpsMax);
  for (std::size_t i = 0; i < kForkers; ++i) forkers_[i] = std::thread([this, i] { fork_ahead(i); });
}

Children::~Children() {
  stop();
  for (std::thread& forker : forkers_) forker.join();
  {
    const std::lock_guard lock(mutex_);
    for (auto& waiting : ready_) {
      for (LaneChild& child : waiting) bury(std::move(child));
    }
    closed_ = true;
    changed_.notify_all();
  }
  undertaker_.join();
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
  auto child = warm_one_of(role, kind);
  if (!child) return child;
  const auto told = [&]() -> Expected<void> {
    if (role != ChildRole::calibrator) {
      if (auto put = put_sources(child->scratch, lease, is_submission(role)); !put) return put;
    }
    if (built != nullptr) {
      if (auto put = child->scratch.put_all(built->dir); !put) return put;
    }
    if (kind == ChildKind::launcher) return {};  // knows what it is
    return sys::send_packet(child->channel.get(), assignment(role, lease.submission, problem_file(lease)));
  }();
  if (told) return child;
  retire(std::move(*child));
  return failure(told.error());
}

Expected<LaneChild> Children::one_of(ChildRole role, ChildKind kind) {
  if (role == ChildRole::profile) return fork(kind, role);
  if (auto waiting = ready(kind)) return std::move(*waiting);
  if (kind != ChildKind::reference) return fork(kind);
  if (auto waiting = ready(ChildKind::python)) return std::move(*waiting);
  return fork(ChildKind::python);
}

// Who finds the device's memory full, of one that is dying, makes no context.
Expected<LaneChild> Children::warm_one_of(ChildRole role, ChildKind kind) {
  for (bool is_again = false;; is_again = true) {
    auto child = one_of(role, kind);
    if (!child) return child;
    if (auto warm = await_warmth(*child, kUntold); !warm) {
      retire(std::move(*child));
      return failure(warm.error());
    }
    if (!child->is_cold || is_again) return child;
    retire(std::move(*child));
    settle();
  }
}

void Children::expect(ChildKind kind) {
  const std::lock_guard lock(mutex_);
  used_[index(kind)] = true;
  changed_.notify_all();
}

// One that still waits: a child may have been killed by who has no memory left, or by the death of its zygote. One that
// is making itself warm is worth waiting for: another would begin later and be in its way. A reference is not, it takes
// longer than it spares.
std::optional<LaneChild> Children::ready(ChildKind kind) {
  std::unique_lock lock(mutex_);
  used_[index(kind)] = true;
  failed_[index(kind)] = false;
  auto& waiting = ready_[index(kind)];
  for (;;) {
    ++waited_for_[index(kind)];
    changed_.notify_all();
    changed_.wait(lock, [&] {
      return !waiting.empty() || forking_[index(kind)] == 0 || stopped_ || kind == ChildKind::reference;
    });
    --waited_for_[index(kind)];
    if (waiting.empty()) return std::nullopt;
    LaneChild child = std::move(waiting.front());
    waiting.pop_front();
    changed_.notify_all();
    const auto exit = child.zygote->wait(child.id, 0);
    if (exit && !*exit) return child;
    bury(std::move(child));
  }
}

Expected<LaneChild> Children::fork(ChildKind kind, ChildRole role) {
  KQ_TRY_VALUE(auto zygote, zygote_());
  KQ_TRY_VALUE(const auto slot, free_slot());
  const auto forked = [&]() -> Expected<LaneChild> {
    const std::uint32_t uid = options_.first_uid == 0 ? 0 : options_.first_uid + static_cast<std::uint32_t>(slot);
    KQ_TRY_VALUE(auto scratch, Scratch::make(options_.scratch, "child" + std::to_string(slot), uid));
    KQ_TRY_VALUE(auto log, sys::LogPump::open());
    KQ_TRY_VALUE(auto ends, sys::packet_pair());
    std::pair<sys::Fd, sys::Fd> audit;
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
                                  .host_bytes = options_.host_bytes_max,
                                  .scratch_bytes = kScratchBytes,
                                  .window_bytes = options_.window_bytes_max,
                                  .profiler = role == ChildRole::profile ? options_.profiler : std::string(),
                                  .audit = is_audited,
                                  .kernels = kind == ChildKind::reference},
                                 log.second.get(), ends.second.get(), audit.second.get());
    if (!id) return failure(id.error());
    return LaneChild{
        zygote, *id, slot, std::move(scratch), std::move(log.first), std::move(ends.first), std::move(audit.first)};
  };
  auto child = forked();
  if (!child) {
    const std::lock_guard lock(mutex_);
    slots_[slot] = false;
  }
  return child;
}

// Its words, until it is warm or cold. From when one that "asks" is told to go until it
// has to wait again or is warm the device feels it.
Expected<void> Children::await_warmth(LaneChild& child, std::size_t place) {
  const auto warm = [&]() -> Expected<void> {
    for (int words = 0; !child.is_warm; ++words) {
      auto word = sys::receive_packet(child.channel.get(), kWarmLimitMs);
      if (!word || words == kWordsMax) return our_fault("a child died before it was warm");
      if (!*word) return our_fault("a child was not warm after " + std::to_string(kWarmLimitMs / 1000) + " s");
      child.is_cold = (*word)->bytes == "cold";
      child.is_warm = child.is_cold || (*word)->bytes == "warm";
      if ((*word)->bytes != "asks") continue;
      begin_at_good_moment(place);
      if (const auto told = sys::send_packet(child.channel.get(), "go"); !told) return told;
    }
    return {};
  }();
  if (place != kUntold) warming_.set_running(place, false);
  return warm;
}

// Not while the judge prepares, unless somebody waits for that child or will, since none is there for the next job, and
// no other is nearer.
void Children::begin_at_good_moment(std::size_t place) {
  if (place == kUntold) return;
  std::unique_lock lock(mutex_);
  const auto is_waited_for = [&] {
    const ChildKind kind = kKindOfForker[place];
    const bool is_needed =
        waited_for_[index(kind)] > 0 || (kind != ChildKind::reference && ready_[index(kind)].empty());
    return is_needed && !is_another_beginning(place);
  };
  // Who goes on at once with his next part was never away: the judge may be waiting for his end.
  if (warming_.is_preparing() && !is_waited_for()) warming_.set_running(place, false);
  await_moment(lock, is_waited_for);
  warming_.set_running(place, true);
}

bool Children::is_another_beginning(std::size_t place) const {
  for (std::size_t i = 0; i < kForkers; ++i) {
    if (i != place && kKindOfForker[i] == kKindOfForker[place] && warming_.is_running(i)) return true;
  }
  return false;
}

// Until the judge does not prepare, or somebody is waiting.
void Children::await_moment(std::unique_lock<std::mutex>& lock, const std::function<bool()>& is_waited_for) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kMomentLimitMs);
  while (warming_.is_preparing() && !is_waited_for() && !stopped_ && std::chrono::steady_clock::now() < deadline)
    changed_.wait_for(lock, kMomentLook);
}

// Waits for one, where too many are dying.
Expected<std::size_t> Children::free_slot() {
  std::unique_lock lock(mutex_);
  auto found = slots_.end();
  changed_.wait_for(lock, std::chrono::milliseconds(kReapLimitMs),
                    [&] { return (found = std::ranges::find(slots_, false)) != slots_.end(); });
  if (found == slots_.end())
    return our_fault(std::to_string(kChildrenMax) + " children of this lane are there, and none goes");
  *found = true;
  return static_cast<std::size_t>(found - slots_.begin());
}

std::string Children::retire(LaneChild child) {
  child.zygote->kill(child.id);
  std::string log = child.log.so_far();
  const std::lock_guard lock(mutex_);
  bury(std::move(child));
  return log;
}

bool Children::is_taking_down() const {
  const std::lock_guard lock(mutex_);
  return taking_down_ || !dying_.empty();
}

void Children::settle() {
  std::unique_lock lock(mutex_);
  is_settling_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return dying_.empty() && !taking_down_; });
  is_settling_ = false;
}

void Children::await_ready() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] {
    return stopped_ ||
           std::ranges::none_of(kKinds, [this](ChildKind kind) { return forking_[index(kind)] > 0 || is_short(kind); });
  });
}

std::optional<std::string> Children::complaint() const {
  const std::lock_guard lock(mutex_);
  return complaint_;
}

void Children::complain(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!complaint_ && !stopped_) complaint_ = why;
}

std::size_t Children::ahead(ChildKind kind) const {
  switch (kind) {
    case ChildKind::python:
      return options_.ahead;
    case ChildKind::launcher:
      return options_.ahead == 0 ? 0 : (options_.ahead + 1) / 2 + (calibrated_[index(kind)] ? 0 : 1);
    case ChildKind::reference:
      return options_.host_bytes_max < kReferenceHostBytes ? 0 : std::min<std::size_t>(options_.ahead, 1);
  }
  return 0;
}

// Too few of that kind wait, and there is room for another.
bool Children::is_short(ChildKind kind) const {
  const bool has_room = std::ranges::count(slots_, false) > static_cast<std::ptrdiff_t>(kSlotsSpared);
  return has_room && used_[index(kind)] && !failed_[index(kind)] &&
         ready_[index(kind)].size() + forking_[index(kind)] < ahead(kind);
}

// A forker's thread: one is warm before it forks the next.
void Children::fork_ahead(std::size_t forker) {
  const ChildKind kind = kKindOfForker[forker];
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopped_ || is_short(kind); });
    if (stopped_) return;
    ++forking_[index(kind)];
    lock.unlock();
    auto child = fork(kind);
    const bool is_warm = child && await_warmth(*child, forker) && !child->is_cold;
    lock.lock();
    --forking_[index(kind)];
    failed_[index(kind)] = !is_warm;  // whoever wants one now is told why
    if (is_warm) {
      ready_[index(kind)].push_back(std::move(*child));
    } else if (child) {
      bury(std::move(*child));
    }
    changed_.notify_all();
  }
}

// The undertaker's thread.
void Children::take_down_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return !dying_.empty() || closed_; });
    if (dying_.empty()) return;
    LaneChild child = std::move(dying_.front());
    dying_.pop_front();
    taking_down_ = true;
    lock.unlock();
    take_down(std::move(child));
    lock.lock();
    taking_down_ = false;
    changed_.notify_all();
  }
}

void Children::retire_in_time(LaneChild child) {
  const std::lock_guard lock(mutex_);
  dying_.push_back(std::move(child));
  changed_.notify_all();
}

// With the lock held.
void Children::bury(LaneChild child) {
  child.zygote->kill(child.id);
  child.is_killed = true;
  dying_.push_back(std::move(child));
  changed_.notify_all();
}

void Children::take_down(LaneChild child) {
  if (!child.is_killed) {
    std::unique_lock lock(mutex_);
    await_moment(lock, [this] { return is_settling_; });
    warming_.set_running(kEnding, true);
    child.zygote->kill(child.id);
  }
  const auto exit = child.zygote->wait(child.id, kReapLimitMs);
  if (!child.is_killed) warming_.set_running(kEnding, false);
  const bool is_there = exit && !*exit;
  if (is_there) complain("a child is there " + std::to_string(kReapLimitMs / 1000) + " s after it was killed");
  if (const int left = child.zygote->left_by(child.id); left > 0)
    complain(std::to_string(left) + " processes of a child would not be killed");
  child.zygote->forget(child.id);
  if (const auto removed = child.scratch.remove(); !removed) complain(removed.error().message);
  if (inspect_) {
    if (const auto why = inspect_()) complain(*why);
  }
  const std::lock_guard lock(mutex_);
  slots_[child.slot] = is_there;
  changed_.notify_all();
}

}  // namespace kq::worker
