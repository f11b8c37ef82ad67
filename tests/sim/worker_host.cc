#include "tests/sim/worker_host.h"

#include <functional>
#include <map>
#include <utility>

#include "core/codec/codec.h"
#include "gpu_worker/core/worker.h"
#include "tests/sim/workload.h"

namespace kq::sim {
namespace {

constexpr std::int64_t kBuildMsMax = 300;
constexpr std::int64_t kLongRunMsMax = 8'000;  // longer than a lease, so that only heartbeats keep the lease
constexpr double kLongRun = 0.05;
constexpr std::int64_t kComeBackMsMax = 3'000;

}  // namespace

// One kq-worker process: the real core with a simulated loop and simulated lanes.
class WorkerHost::Process {
 public:
  explicit Process(WorkerHost& host)
      : host_(host),
        context_(host.context_),
        epoch_(context_.random.next()),
        worker_({.name = host.traits_.name,
                 .epoch = epoch_,
                 .devices = host.traits_.devices,
                 .labels = host.traits_.labels,
                 .backends = host.traits_.backends,
                 .build_slots = host.traits_.build_slots,
                 .build_slots_without_jobs = host.traits_.build_slots + 1,
                 .leases_ahead = host.traits_.leases_ahead,
                 .builds_for = host.traits_.builds_for}) {}

  void handle(worker::WorkerEvent event) {
    const worker::WorkerReady ready = worker_.step(std::move(event), host_.clock_.now_ms());
    for (const std::string& note : ready.notes) host_.oracle_.violated("a worker logged: " + note);
    for (const worker::BuildStart& start : ready.builds) build(start.lease);
    for (const worker::RunStart& start : ready.runs) run(start.lease);
    for (const LeaseId& lease : ready.stops) stop(lease);
    for (const WorkerRequest& request : ready.sends) say(request);
    if (ready.finished) return die();
    host_.after(host_.clock_.until(ready.wake_at_ms), [this, mine = ++wake_number_] {
      if (mine == wake_number_) handle(worker::Tick{});
    });
  }

  void say(const WorkerRequest& request) {
    host_.network_.to_broker(host_.peer(), encode_message(Message<WorkerRequest>{0, request}));
  }

  std::uint64_t epoch() const { return epoch_; }

 private:
  using Ending = std::function<void(bool is_stopped)>;

  void build(const std::shared_ptr<const Lease>& lease) {
    if (lease->id.attempt == 0) return build_for_others(lease);
    begin(lease->id, context_.random.between(1, kBuildMsMax), [this, lease](bool is_stopped) {
      worker::BuildDone done{lease->id,
                             worker::Built{.verdict = std::nullopt, .dir = "built", .cached = false, .ms = 1}};
      if (is_stopped || context_.strikes(Fault::attempt_fails)) {
        done.built = our_fault("no room for the build");
      } else if (verdict_of(*lease) == VerdictName::build_failed) {
        done.built->verdict = result_of(*lease).verdict;
      }
      handle(std::move(done));
    });
  }

  // The build may take longer than the broker waits, kill its builder, make nothing, or make an artifact with a wrong
  // hash.
  void build_for_others(const std::shared_ptr<const Lease>& lease) {
    const std::int64_t most_ms = context_.random.chance(kLongRun) ? kLongRunMsMax : kBuildMsMax;
    begin(lease->id, context_.random.between(1, most_ms), [this, lease](bool is_stopped) {
      if (is_poison(lease->submission) && context_.strikes(Fault::attempt_poisoned)) return die();
      worker::BuildDone done{lease->id,
                             worker::Built{.verdict = std::nullopt, .dir = "built", .cached = false, .ms = 1}};
      if (is_stopped || context_.strikes(Fault::attempt_fails)) {
        done.built = our_fault("no room for the build");
      } else if (verdict_of(*lease) == VerdictName::build_failed) {
        done.built->verdict = result_of(*lease).verdict;
      } else {
        done.built->object = object_of(lease->submission, lease->device);
        if (context_.strikes(Fault::attempt_fails)) done.built->object->bytes += " garbled";
      }
      handle(std::move(done));
    });
  }

  void run(const std::shared_ptr<const Lease>& lease) {
    const std::int64_t most_ms = context_.random.chance(kLongRun) ? kLongRunMsMax : host_.traits_.run_ms_max;
    begin(lease->id, context_.random.between(1, most_ms), [this, lease](bool is_stopped) {
      if (is_poison(lease->submission) && context_.strikes(Fault::attempt_poisoned)) return die();
      const bool fails = is_stopped || context_.strikes(Fault::attempt_fails);
      handle(worker::RunDone{lease->id, fails ? Expected<Result>(our_fault("the judge is gone")) : result_of(*lease)});
    });
  }

  void begin(const LeaseId& lease, std::int64_t ms, Ending ending) {
    under_way_[lease] = std::move(ending);
    host_.after(ms, [this, lease] { end(lease, false); });
  }

  void end(const LeaseId& lease, bool is_stopped) {
    auto ending = under_way_.extract(lease);
    if (ending) ending.mapped()(is_stopped);
  }

  // Half of the builds and runs stop when they are told to; the others end as if they were not told.
  void stop(const LeaseId& lease) {
    if (context_.random.chance(0.5)) host_.after(1, [this, lease] { end(lease, true); });
  }

  Result result_of(const Lease& lease) {
    const VerdictName verdict = verdict_of(lease);
    Result result;
    result.device = lease.device;
    result.worker = host_.traits_.name;
    if (verdict != VerdictName::passed) {
      Evidence evidence;
      evidence.message = tag_of(lease.id);
      result.verdict = ended(verdict, std::move(evidence));
      return result;
    }
    Measurement measurement;
    measurement.submission.sample_count = static_cast<std::uint32_t>(context_.random.between(0, 1) * 8);  // 0: untimed
    measurement.submission.median_ns = static_cast<double>(context_.random.between(1, 50));
    measurement.reference.sample_count = measurement.submission.sample_count;
    measurement.reference.median_ns = 25;
    result.verdict = Passed{measurement, {}};
    result.log = tag_of(lease.id);
    result.samples.submission_ns = samples_of(lease.id);
    return result;
  }

  void die() {
    WorkerHost& host = host_;
    host.crash();  // destroys this object
    host.come_back_in(kComeBackMsMax);
  }

  WorkerHost& host_;
  Context& context_;
  const std::uint64_t epoch_;
  worker::Worker worker_;
  std::map<LeaseId, Ending> under_way_;  // by lease: what happens at the end of a build or run
  std::uint64_t wake_number_ = 0;        // of the newest planned wake-up; older ones are ignored
};

WorkerHost::WorkerHost(Context& context, Network& network, Oracle& oracle, WorkerTraits traits)
    : context_(context),
      network_(network),
      oracle_(oracle),
      traits_(std::move(traits)),
      clock_(context.timeline, context.random) {}

void WorkerHost::start() {
  if (process_) return;
  context_.trace([&] { return traits_.machine + " starts"; });
  frozen_until_ms_ = 0;
  if (connection_number_ == 0 || !context_.strikes(Fault::address_reused)) ++connection_number_;
  process_ = std::make_shared<Process>(*this);
  connect();
  after(0, [this] { process_->handle(worker::Tick{}); });
}

void WorkerHost::crash() {
  if (!process_) return;
  context_.trace([&] { return traits_.machine + " has ended"; });
  process_.reset();
  network_.detach(peer());
}

void WorkerHost::leave() {
  if (!process_) return;
  process_->say(Goodbye{process_->epoch()});
  crash();
}

void WorkerHost::drain() {
  after(0, [this] { process_->handle(worker::DrainRequested{}); });
}

void WorkerHost::reconnect() {
  if (!process_) return;
  network_.detach(peer());
  ++connection_number_;
  connect();
}

void WorkerHost::freeze(std::int64_t ms) {
  frozen_until_ms_ = context_.timeline.now_ms() + ms;
}

void WorkerHost::come_back_in(std::int64_t ms_max) {
  context_.timeline.after(context_.random.between(0, ms_max), [this] { start(); });
}

void WorkerHost::connect() {
  network_.attach(peer(), [this](std::string bytes) {
    after(0, [this, bytes = std::move(bytes)] {
      auto message = decode_message<WorkerReply>(bytes);
      if (!message) return oracle_.violated("a worker cannot decode a message: " + message.error().message);
      process_->handle(worker::BrokerMessage{std::move(message->body)});
    });
  });
}

void WorkerHost::after(std::int64_t ms, std::function<void()> action) {
  context_.timeline.after(ms, [this, action = std::move(action), process = std::weak_ptr(process_)] {
    const auto same = process.lock();  // keeps the process until the action is done
    if (!same || same != process_) return;
    if (const auto left_ms = frozen_until_ms_ - context_.timeline.now_ms(); left_ms > 0) return after(left_ms, action);
    action();
  });
}

}  // namespace kq::sim
