#include "tests/sim/world.h"

#include <memory>
#include <utility>
#include <vector>

#include "tests/sim/broker_host.h"
#include "tests/sim/user.h"
#include "tests/sim/worker_host.h"
#include "tests/sim/workload.h"

namespace kq::sim {
namespace {

constexpr std::int64_t kFaultsMs = 30'000;
constexpr std::int64_t kCalmMsMax = 600'000;
constexpr std::size_t kUsers = 2;
constexpr std::int64_t kOrdersMax = 6;  // per user

void draw_retention(Random& random, broker::BrokerOptions& options) {
  if (random.chance(0.6)) options.keep_ms = random.between(1'000, 15'000);
  if (options.keep_ms == 0 || random.chance(0.4)) options.keep_jobs = static_cast<std::uint64_t>(random.between(1, 10));
  options.keep_ms_min = random.between(200, 5'000);
  options.retention_pause_ms = random.between(1, 1'000);
  options.retention_step_interval_ms = random.between(1, 200);
  options.file_sweep_interval_ms = random.between(1, 5'000);
  if (random.chance(0.5)) options.jobs_removed_per_step_max = static_cast<std::size_t>(random.between(1, 3));
  if (random.chance(0.5)) options.records_read_per_step_max = static_cast<std::size_t>(random.between(1, 5));
  if (random.chance(0.5)) options.files_read_per_step_max = 1;
}

broker::BrokerOptions draw_options(Random& random) {
  broker::BrokerOptions options;
  options.lease_ms = 3'000;
  options.heartbeat_ms = 500;
  options.worker_backoff_ms_min = 50;
  options.worker_backoff_ms_max = 500;
  options.job_backoff_ms_min = 50;
  options.job_backoff_ms_max = 2'000;
  options.busy_retry_ms = 200;
  options.build_limit_ms = 4'000;
  options.build_search_interval_ms = random.between(1, 100);
  if (random.chance(0.3)) options.artifacts_max = 2;
  if (random.chance(0.3)) options.artifacts_bytes_max = 2 * kObjectBytesMax;
  if (random.chance(0.3)) options.builds_ahead_max = 1;
  if (random.chance(0.2)) options.failed_builds_max = 1;
  if (random.chance(0.2)) options.submitter_jobs_max = 5;
  // These make queue lanes longer than their windows in RAM.
  if (random.chance(0.5)) options.lane_window = {.jobs_max = 2, .jobs_min = 1};
  if (random.chance(0.5)) options.queued_jobs_cached_max = 2;
  if (random.chance(0.3)) options.timers_per_step_max = 1;
  if (random.chance(0.3)) options.refills_per_step_max = 1;
  if (random.chance(0.3)) options.unfinished_jobs_max = 6;
  if (random.chance(0.3)) options.leases_per_step_max = 2;
  if (random.chance(0.3)) options.lease_batch_bytes_max = 1;
  if (random.chance(0.4)) draw_retention(random, options);
  return options;
}

DeviceInfo device(DeviceKind kind, const std::string& model, const std::string& arch, std::uint64_t memory_bytes) {
  DeviceInfo info;
  info.kind = kind;
  info.arch = arch;
  info.model = model;
  info.memory_bytes = memory_bytes;
  return info;
}

class World {
 public:
  World(std::uint64_t seed, Plant plant, const std::function<void(const std::string&)>& tell)
      : context_(seed, tell),
        saboteur_(plant, oracle_),
        host_(context_, network_, oracle_, saboteur_, draw_options(context_.random)) {
    host_.down_ms_max = random().chance(0.5) ? 500 : 6'000;
    add_workers();
    add_users();
  }

  Outcome run() {
    for (auto& worker : workers_) worker->start();
    for (auto& user : users_) user->start();
    plan_event();
    run_until(kFaultsMs, [] { return false; });
    if (!oracle_.violation()) begin_calm();
    run_until(kCalmMsMax, [this] { return is_done(); });
    if (!oracle_.violation() && !is_done())
      oracle_.violated("not all work has ended after the faults stopped: " + unfinished_text());
    if (!oracle_.violation()) oracle_.ended(host_.disk());
    return {.violation = oracle_.violation(),
            .lasted_ms = context_.timeline.now_ms() - Timeline::kBeginMs,
            .job_count = oracle_.job_count(),
            .removed_count = oracle_.removed_count(),
            .removed_file_count = oracle_.removed_file_count(),
            .object_count = oracle_.object_count(),
            .turn_count = host_.turn_count(),
            .faults = context_.counts};
  }

 private:
  Random& random() { return context_.random; }

  void add_workers() {
    const DeviceInfo cpu = device(DeviceKind::cpu, "cpu", "", 64);
    const DeviceInfo small = device(DeviceKind::cuda, "A100", "sm_80", 80);
    DeviceInfo large = device(DeviceKind::cuda, "H200", "sm_90", 140);
    large.uuid = "GPU-1";
    DeviceInfo twin = large;
    twin.uuid = "GPU-2";
    const bool namesakes = random().chance(0.1);
    const std::int64_t run_ms_max = random().chance(0.3) ? 5'000 : 1'500;  // with slow workers the queue grows
    for (const auto& devices : {std::vector{cpu}, std::vector{small, cpu}, std::vector{large, twin}}) {
      const std::string machine = "w" + std::to_string(workers_.size() + 1);
      workers_.push_back(std::make_unique<WorkerHost>(
          context_, network_, oracle_,
          WorkerTraits{.machine = machine,
                       .name = namesakes ? "w" : machine,
                       .devices = devices,
                       .labels = workers_.size() == 2 ? std::vector<std::string>{"large"} : std::vector<std::string>{},
                       .backends = workers_.empty() ? std::vector{Backend::torch} : std::vector<Backend>{},
                       .build_slots = static_cast<std::uint32_t>(random().between(1, 2)),
                       .leases_ahead = static_cast<std::uint32_t>(random().between(0, 2)),
                       .run_ms_max = run_ms_max}));
    }
    for (auto left = random().between(0, 2); left > 0; --left) add_builder();
  }

  // Adds a worker without devices, which only builds.
  void add_builder() {
    const std::string machine = "w" + std::to_string(workers_.size() + 1);
    const auto target = [](DeviceKind kind, const std::string& arch) { return device(kind, "", arch, 0); };
    std::vector targets{target(DeviceKind::cuda, "sm_90"), target(DeviceKind::cuda, "sm_80"),
                        target(DeviceKind::cpu, "")};
    targets.resize(static_cast<std::size_t>(random().between(1, 3)));
    workers_.push_back(std::make_unique<WorkerHost>(
        context_, network_, oracle_,
        WorkerTraits{.machine = machine,
                     .name = machine,
                     .devices = {},
                     .builds_for = std::move(targets),
                     .labels = random().chance(0.5) ? std::vector<std::string>{"large"} : std::vector<std::string>{},
                     .build_slots = static_cast<std::uint32_t>(random().between(1, 3)),
                     .leases_ahead = static_cast<std::uint32_t>(random().between(0, 1))}));
  }

  void add_users() {
    const bool has_keys = random().chance(0.6);
    const WorkloadProfile profile = draw_workload_profile(random());
    for (std::size_t i = 0; i < kUsers; ++i) {
      const std::string name = "c" + std::to_string(i + 1);
      std::vector<producer::Prepared> orders;
      for (auto left = random().between(1, kOrdersMax); left > 0; --left) {
        orders.push_back(draw_order(random(), profile, name, orders.size()));
        if (has_keys) orders.back().run = name + " " + orders.back().run;  // with keys a run belongs to one user
      }
      // With keys the first user is an administrator. Without keys every user is allowed everything.
      const bool is_admin = !has_keys || i == 0;
      if (has_keys) network_.give_key(name, {.name = name, .role = is_admin ? Role::admin : Role::submit});
      users_.push_back(std::make_unique<User>(context_, network_, oracle_, name, std::move(orders), is_admin));
    }
  }

  template <class Stop>
  void run_until(std::int64_t ms, const Stop& stop) {
    const std::int64_t end_ms = context_.timeline.now_ms() + ms;
    while (!oracle_.violation() && context_.timeline.now_ms() < end_ms && !stop()) context_.timeline.step();
  }

  void begin_calm() {
    context_.trace([] { return "calm"; });
    context_.rates = {};
    network_.heal();
    host_.down_ms_max = 100;
    host_.freeze(0);
    host_.fill_disk_for(0);
    for (auto& worker : workers_) {
      worker->thaw();
      worker->start();
    }
    for (auto& user : users_) user->finish();
  }

  void plan_event() {
    context_.timeline.after(random().between(1, context_.rates.gap_ms_max), [this] {
      const auto event = draw_event(context_.rates, random());
      if (!event) return;
      context_.counts.add(*event);
      context_.trace([&] { return "* " + std::string(to_string(*event)); });
      apply(*event);
      plan_event();
    });
  }

  void apply(Fault event) {
    WorkerHost& worker = *workers_[random().below(workers_.size())];
    User& user = *users_[random().below(users_.size())];
    const std::string& machine = random().chance(0.3) ? user.machine() : worker.machine();
    switch (event) {
      case Fault::cut:
        network_.cut(machine, Direction::to_broker, random().between(100, 8'000));
        return network_.cut(machine, Direction::from_broker, random().between(100, 8'000));
      case Fault::cut_one_way:
        return network_.cut(machine, static_cast<Direction>(random().below(2)), random().between(100, 8'000));
      case Fault::broker_crash:
        return host_.crash();
      case Fault::broker_crash_within:
        return host_.crash_after(static_cast<std::uint32_t>(random().below(12)));
      case Fault::broker_freeze:
        return host_.freeze(random().between(100, 5'000));
      case Fault::commit_fails:
        return host_.fail_next_commit();
      case Fault::read_fails:
        return host_.fail_read_after(static_cast<std::uint32_t>(random().below(12)));
      case Fault::disk_full:
        return host_.fill_disk_for(random().between(100, 8'000));
      case Fault::clock_ahead:
        return host_.jump_ahead(random().between(100, 10'000));
      case Fault::worker_crash:
        worker.crash();
        return worker.come_back_in(5'000);
      case Fault::worker_crash_for_good:
        return worker.crash();
      case Fault::worker_leaves:
        worker.leave();
        return worker.come_back_in(2'000);
      case Fault::worker_drains:
        return worker.drain();
      case Fault::worker_reconnects:
        return worker.reconnect();
      case Fault::worker_freeze:
        return worker.freeze(random().between(100, 8'000));
      case Fault::client_crash:
        return user.crash();
      default:
        return;  // the other faults are not events
    }
  }

  bool is_done() const {
    for (const auto& user : users_) {
      if (!user->is_done()) return false;
    }
    return host_.is_up() && oracle_.all_finished();
  }

  std::string unfinished_text() const {
    std::string text = oracle_.unfinished_text();
    for (const auto& user : users_) text += user->unfinished_text();
    return host_.is_up() ? text : text + "; the broker is down";
  }

  Context context_;
  Oracle oracle_;
  Saboteur saboteur_;
  Network network_{context_};
  BrokerHost host_;
  std::vector<std::unique_ptr<WorkerHost>> workers_;
  std::vector<std::unique_ptr<User>> users_;
};

}  // namespace

Outcome run_world(std::uint64_t seed, Plant plant, const std::function<void(const std::string&)>& tell) {
  return World(seed, plant, tell).run();
}

}  // namespace kq::sim
