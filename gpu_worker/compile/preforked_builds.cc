#include "gpu_worker/compile/preforked_builds.h"

#include <algorithm>
#include <utility>

#include "gpu_worker/zygote/packets.h"

namespace kq::worker {
namespace {

constexpr std::int64_t kEndLimitMs = 60'000;  // see kReapLimitMs in gpu_worker/lane/children.cc

}  // namespace

Expected<void> PreforkedBuild::assign(const Lease& lease) const {
  return put_sources(scratch, lease, true).and_then([&] {
    return sys::send_packet(channel.get(), assignment(ChildRole::build, lease.submission, problem_file(lease)));
  });
}

PreforkedBuilds::~PreforkedBuilds() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  if (worker_.joinable()) worker_.join();
  ending_.splice(ending_.end(), waiting_);
  for (const PreforkedBuild& child : ending_) child.zygote->kill(child.id);
  for (PreforkedBuild& child : ending_) reap(std::move(child));
}

std::optional<PreforkedBuild> PreforkedBuilds::take(const std::shared_ptr<Zygote>& zygote, const std::string& arch) {
  const std::lock_guard lock(mutex_);
  if (!worker_.joinable()) worker_ = std::thread([this] { work(); });
  zygote_ = zygote;
  arch_ = arch;
  has_failed_ = false;
  changed_.notify_all();
  for (;;) {
    const auto found = std::ranges::find_if(waiting_, [this](const PreforkedBuild& child) { return is_wanted(child); });
    if (found == waiting_.end()) return std::nullopt;
    PreforkedBuild child = std::move(*found);
    waiting_.erase(found);
    const auto exit = child.zygote->wait(child.id, 0);
    if (exit && !*exit) return child;
    ending_.push_back(std::move(child));
  }
}

void PreforkedBuilds::end(PreforkedBuild child) {
  const std::lock_guard lock(mutex_);
  ending_.push_back(std::move(child));
  changed_.notify_all();
}

// Returns the smallest free place.
std::shared_ptr<const std::uint32_t> PreforkedBuilds::place_in(const std::shared_ptr<Places>& places) {
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

Expected<PreforkedBuild> PreforkedBuilds::make(std::shared_ptr<Zygote> zygote, const std::string& arch) const {
  auto place = place_in(places_);
  const std::uint32_t uid = options_.first_uid == 0 ? 0 : options_.first_uid + *place;
  KQ_TRY_VALUE(auto scratch, Scratch::make(options_.scratch, "ready" + std::to_string(*place), uid));
  KQ_TRY_VALUE(auto log, sys::LogPump::open());
  KQ_TRY_VALUE(auto ends, sys::packet_pair());
  const auto id = zygote->fork({.role = ChildRole::ready_build,
                                .backend = Backend::cuda,
                                .dir = scratch.dir(),
                                .uid = uid,
                                .entry = {},
                                .problem = {},
                                .arch = arch,
                                .host_bytes = options_.host_bytes,
                                .scratch_bytes = options_.scratch_bytes,
                                .cores = options_.cores},
                               log.second.get(), ends.second.get());
  if (!id) return failure(id.error());
  return PreforkedBuild{std::move(zygote),    arch, *id, std::move(place), std::move(scratch), std::move(log.first),
                        std::move(ends.first)};
}

bool PreforkedBuilds::needs_more() const {
  const auto ready = std::ranges::count_if(waiting_, [this](const PreforkedBuild& child) { return is_wanted(child); });
  return zygote_ && !has_failed_ && ready < static_cast<std::ptrdiff_t>(kPreforkedBuildsMax);
}

void PreforkedBuilds::reap(PreforkedBuild child) {
  child.zygote->kill(child.id);
  const auto exit = child.zygote->wait(child.id, kEndLimitMs);
  child.zygote->forget(child.id);
  if (exit && !*exit) lost_.push_back(std::move(child.place));
}

// The function of the thread that forks and ends children.
void PreforkedBuilds::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopped_ || !ending_.empty() || needs_more(); });
    if (stopped_) return;
    if (needs_more()) {
      const auto zygote = zygote_;
      const std::string arch = arch_;
      lock.unlock();
      auto made = make(zygote, arch);
      lock.lock();
      if (zygote_ == zygote && arch_ == arch)
        has_failed_ = !made;  // the next build forks a child itself and gets the error
      if (made) waiting_.push_back(std::move(*made));
    }
    if (waiting_.size() > kPreforkedBuildsTotalMax) {
      ending_.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    while (!ending_.empty() && !stopped_) {
      PreforkedBuild child = std::move(ending_.front());
      ending_.pop_front();
      lock.unlock();
      reap(std::move(child));
      lock.lock();
    }
  }
}

}  // namespace kq::worker
