#include "broker/standby/service.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>
#include <utility>

#include "broker/standby/follower.h"
#include "core/records.h"
#include "store/keys.h"
#include "sys/clock.h"

namespace kq::broker {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kTurnMs = 50;  // the longest wait for a message of the primary
// A broker that served last asks the other one for so long whether it serves now.
constexpr std::int64_t kAskMs = 2'000;
constexpr std::int64_t kReadLeaseMs = 200;  // the longest time between two looks at the lease

std::uint64_t random_number() {
  std::uint64_t number = 0;
  while (::getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  return number;
}

// One broker that waits for its turn.
class Candidate {
 public:
  Candidate(const StandbyOptions& options, const StandbyWorld& world)
      : options_(options), world_(world), name_(standby_name(options.store_dir)), watch_(options.takeover_ms) {}

  Expected<std::optional<Service>> run(const volatile std::sig_atomic_t& stop) {
    if (!options_.follow.empty()) {
      KQ_TRY_VALUE(link_, world_.connect());
    }
    KQ_TRY_VALUE(auto follower, Follower::start(*this->link(), follower_options()));
    const std::int64_t begun_ms = sys::monotonic_now_ms();
    while (stop == 0) {
      KQ_TRY_VALUE(auto service,
                   options_.lease_path.empty() ? serve_by_order(follower, begun_ms) : serve_by_lease(follower));
      if (service) return service;
      if (!told_ && sys::monotonic_now_ms() - begun_ms > kTurnMs) {
        told_ = true;
        world_.log(NoteLevel::info, "this broker stands by; it takes over by " +
                                        (options_.lease_path.empty() ? promote_path(options_.store_dir)
                                                                     : "the lease " + options_.lease_path));
        world_.stands_by();
      }
      KQ_TRY(follower.turn(kTurnMs));
    }
    return std::optional<Service>();
  }

 private:
  // Without another broker there is no link, and following is waiting.
  class NoLink final : public net::ClientLink {
   public:
    bool send(std::string_view) override { return false; }
    Expected<std::optional<std::string>> receive(std::int64_t timeout_ms) override {
      ::usleep(static_cast<useconds_t>(timeout_ms * 1'000));
      return std::nullopt;
    }
  };

  net::ClientLink* link() {
    if (!link_) link_ = std::make_unique<NoLink>();
    return link_.get();
  }

  Follower::Options follower_options() const {
    return {.store_dir = options_.store_dir,
            .name = name_,
            .open = world_.open_follower,
            .now_ms = sys::monotonic_now_ms,
            .random = random_number,
            .log = world_.log};
  }

  bool is_ordered() const { return fs::exists(promote_path(options_.store_dir)); }

  Expected<History> history_of(Follower& follower) const {
    return follower.store() == nullptr ? History() : History::read(*follower.store());
  }

  Expected<std::optional<Service>> serve_by_order(Follower& follower, std::int64_t begun_ms) {
    KQ_TRY_VALUE(const auto history, history_of(follower));
    if (is_ordered()) {
      if (follower.store() != nullptr) return begin(follower, history.last().number + 1, nullptr);
      if (!has_refused_) world_.log(NoteLevel::warning, "this standby has no complete copy yet and cannot take over");
      has_refused_ = true;
    }
    // Whoever served last serves again, unless the other one has taken over meanwhile.
    const bool served_last = history.last().holder == name_;
    const bool other_serves = follower.heard_ms() != 0;
    if (served_last && !other_serves && sys::monotonic_now_ms() - begun_ms >= kAskMs)
      return begin(follower, history.last().number + 1, nullptr);
    return std::optional<Service>();
  }

  Expected<std::optional<Service>> serve_by_lease(Follower& follower) {
    const std::int64_t now_ms = sys::monotonic_now_ms();
    if (now_ms < read_lease_at_ms_) return std::optional<Service>();
    read_lease_at_ms_ = now_ms + std::min(options_.takeover_ms / 20, kReadLeaseMs);
    const auto lease = read_lease(options_.lease_path);
    if (!lease) {
      // The file system may come back.
      if (lease.error().message != lease_error_) world_.log(NoteLevel::warning, lease.error().message);
      lease_error_ = lease.error().message;
      return std::optional<Service>();
    }
    lease_error_.clear();
    const LeaseRecord before = *lease ? **lease : LeaseRecord();
    KQ_TRY_VALUE(const auto history, history_of(follower));
    const std::uint64_t own_epoch = history.last().number;
    // This process has the lock of the store, so the process that held the lease with the same store has ended.
    const bool is_own = before.holder == name_;
    if (*lease && !is_own && !watch_.is_over(before, now_ms)) return std::optional<Service>();
    const bool has_all = is_own || !*lease || before.standby == name_ || before.standby == kAnyStandby;
    // A store that has not seen the lease's epoch is an old one or none.
    const bool may_serve =
        !*lease || (has_all && own_epoch >= before.epoch) || (is_ordered() && follower.store() != nullptr);
    if (!may_serve) {
      if (!has_refused_) {
        world_.log(NoteLevel::warning, "the lease is free, but this broker's copy may lack acknowledged jobs of " +
                                           before.holder + "; kq ctl promote orders it to serve nevertheless");
      }
      has_refused_ = true;
      return std::optional<Service>();
    }
    return begin(follower, std::max(own_epoch, before.epoch) + 1, &*lease);
  }

  // Begins an epoch and serves. `before` is the lease to be replaced, or null without one.
  Expected<std::optional<Service>> begin(Follower& follower, std::uint64_t epoch,
                                         const std::optional<LeaseRecord>* before) {
    Service service;
    service.store = follower.take_store();
    KQ_TRY_VALUE(const auto schema, service.store ? service.store->get(store::Family::meta, store::kSchemaKey)
                                                  : Expected<std::optional<std::string>>(std::nullopt));
    if (schema != std::to_string(kSchemaVersion)) {
      service.store.reset();  // opening it for serving migrates it, or makes a new one
      KQ_TRY_VALUE(service.store, world_.open());
    }
    KQ_TRY_VALUE(service.history, History::read(*service.store));
    KQ_TRY(service.history.begin(*service.store, epoch, random_number(), name_));
    if (before != nullptr) {
      LeaseRecord record{.epoch = epoch, .holder = name_, .url = options_.url};
      record.standby = options_.replicas.value_or(0) == 0 ? kAnyStandby : kNoStandby;
      KQ_TRY_VALUE(service.lease, HeldLease::take({.path = options_.lease_path, .takeover_ms = options_.takeover_ms},
                                                  *before, std::move(record)));
      if (!service.lease)
        return our_fault("another broker took the lease " + options_.lease_path + " first; start this one again");
    }
    std::error_code stays;
    fs::remove(promote_path(options_.store_dir), stays);
    world_.log(NoteLevel::info, "this broker serves from now on, in epoch " + std::to_string(epoch));
    return std::optional(std::move(service));
  }

  const StandbyOptions& options_;
  const StandbyWorld& world_;
  const std::string name_;
  LeaseWatch watch_;
  std::unique_ptr<net::ClientLink> link_;
  std::int64_t read_lease_at_ms_ = 0;
  std::string lease_error_;
  bool told_ = false;
  bool has_refused_ = false;
};

}  // namespace

std::string promote_path(const std::string& store_dir) {
  fs::path path = fs::path(store_dir).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  return path.string() + ".promote";
}

std::string standby_name(const std::string& store_dir) {
  std::array<char, 256> host{};
  (void)::gethostname(host.data(), host.size() - 1);
  return std::string(host.data()) + ":" + fs::absolute(store_dir).lexically_normal().string();
}

Expected<std::optional<Service>> await_service(const StandbyOptions& options, const StandbyWorld& world,
                                               const volatile std::sig_atomic_t& stop) {
  if (options.follow.empty() && options.lease_path.empty()) {
    Service service;
    KQ_TRY_VALUE(service.store, world.open());
    if (options.replicas) {
      KQ_TRY_VALUE(service.history, History::read(*service.store));
      KQ_TRY(service.history.begin(*service.store, service.history.last().number + 1, random_number(),
                                   standby_name(options.store_dir)));
    }
    return std::optional(std::move(service));
  }
  return Candidate(options, world).run(stop);
}

}  // namespace kq::broker
