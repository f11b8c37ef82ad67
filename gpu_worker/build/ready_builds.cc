#include "gpu_worker/build/ready_builds.h"

#include <algorithm>
#include <utility>

namespace kq {
namespace {

constexpr std::int64_t kEndLimitMs = 5'000;

void end(ReadyBuild& child) {
  child.zygote->kill(child.id);
  (void)child.zygote->wait(child.id, kEndLimitMs);
  child.zygote->forget(child.id);
}

}  // namespace

ReadyBuilds::~ReadyBuilds() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  if (maker_.joinable()) maker_.join();
  for (ReadyBuild& child : waiting_) end(child);
}

std::optional<ReadyBuild> ReadyBuilds::take(const std::shared_ptr<Zygote>& zygote, const std::string& arch) {
  const std::lock_guard lock(mutex_);
  if (!maker_.joinable()) maker_ = std::thread([this] { make_ahead(); });
  if (zygote_ != zygote || arch_ != arch) {
    for (ReadyBuild& child : waiting_) end(child);
    waiting_.clear();
  }
  zygote_ = zygote;
  arch_ = arch;
  changed_.notify_all();
  while (!waiting_.empty()) {
    ReadyBuild child = std::move(waiting_.front());
    waiting_.pop_front();
    const auto exit = child.zygote->wait(child.id, 0);
    if (exit && !*exit) return child;
    end(child);
  }
  return std::nullopt;
}

// The least that nobody has.
std::shared_ptr<const std::uint32_t> ReadyBuilds::place_in(const std::shared_ptr<Places>& places) {
  const std::lock_guard lock(places->mutex);
  auto& taken = places->taken;
  const auto found = static_cast<std::uint32_t>(std::ranges::find(taken, false) - taken.begin());
  if (found == taken.size()) taken.push_back(false);
  taken[found] = true;
  return {new std::uint32_t(found), [places](const std::uint32_t* place) {
            const std::lock_guard back(places->mutex);
            places->taken[*place] = false;
            delete place;
          }};
}

Expected<ReadyBuild> ReadyBuilds::make(std::shared_ptr<Zygote> zygote, const std::string& arch) const {
  auto place = place_in(places_);
  const std::uint32_t uid = options_.first_uid == 0 ? 0 : options_.first_uid + *place;
  auto scratch = Scratch::make(options_.scratch, "ready" + std::to_string(*place), uid);
  if (!scratch) return failure(scratch.error());
  auto log = LogPump::open();
  if (!log) return failure(log.error());
  auto ends = packet_pair();
  if (!ends) return failure(ends.error());
  const auto id = zygote->fork({.role = ChildRole::ready_build,
                                .backend = Backend::cuda,
                                .dir = scratch->dir(),
                                .uid = uid,
                                .entry = {},
                                .problem = {},
                                .arch = arch,
                                .host_bytes = options_.host_bytes,
                                .scratch_bytes = options_.scratch_bytes},
                               log->second.get(), ends->second.get());
  if (!id) return failure(id.error());
  return ReadyBuild{std::move(zygote), *id, std::move(place), std::move(*scratch), std::move(log->first), std::move(ends->first)};
}

// The maker's thread. Where one cannot be made none is until somebody wants one again: the build says why.
void ReadyBuilds::make_ahead() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopped_ || (zygote_ && waiting_.size() < kReadyBuildsMax); });
    if (stopped_) return;
    const auto zygote = zygote_;
    const std::string arch = arch_;
    lock.unlock();
    auto made = make(zygote, arch);
    lock.lock();
    if (made && zygote_ == zygote && arch_ == arch) {
      waiting_.push_back(std::move(*made));
      continue;
    }
    if (made) end(*made);
    if (zygote_ == zygote) zygote_.reset();
  }
}

}  // namespace kq
