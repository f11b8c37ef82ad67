#include "tests/sim/world.h"

#include <memory>
#include <utility>
#include <vector>

#include "tests/sim/broker_host.h"
#include "tests/sim/model_client.h"
#include "tests/sim/model_worker.h"

namespace kq::sim {
namespace {

constexpr std::int64_t kFaultsMs = 40'000;
constexpr std::int64_t kCalmMsMax = 600'000;
constexpr std::size_t kClients = 2;
constexpr std::size_t kBatches = 5;  // of each client

BrokerOptions options_for(Random& random, Plant plant) {
  BrokerOptions options;
  options.lease_ms = 3'000;
  options.heartbeat_ms = 500;
  options.rest_ms_min = 50;
  options.rest_ms_max = 500;
  if (random.chance(0.3)) options.unfinished_jobs_max = 6;
  if (random.chance(0.3)) options.leases_per_step_max = 2;
  if (random.chance(0.3)) options.lease_batch_bytes_max = 1;
  if (plant == Plant::no_lease_expiry) options.lease_ms = 1u << 31;
  return options;
}

DeviceInfo device(DeviceKind kind, const std::string& model, std::uint64_t memory_bytes) {
  DeviceInfo info;
  info.kind = kind;
  info.model = model;
  info.memory_bytes = memory_bytes;
  return info;
}

class World {
 public:
  World(std::uint64_t seed, Plant plant, std::function<void(const std::string&)> tell)
      : random_(seed),
        tell_(std::move(tell)),
        host_(timeline_, random_, network_, oracle_, options_for(random_, plant), plant) {
    const DeviceInfo cpu = device(DeviceKind::cpu, "cpu", 64);
    const DeviceInfo small = device(DeviceKind::cuda, "A100", 80);
    const DeviceInfo large = device(DeviceKind::cuda, "H200", 140);
    for (const auto& devices : {std::vector{cpu}, std::vector{small, cpu}, std::vector{large}}) {
      workers_.push_back(
          std::make_unique<ModelWorker>(timeline_, random_, network_,
                                        WorkerTraits{.name = "w" + std::to_string(workers_.size() + 1),
                                                     .devices = devices,
                                                     .credit = static_cast<std::uint32_t>(random_.between(1, 4))}));
      workers_.back()->start();
    }
    for (std::size_t i = 0; i < kClients; ++i) {
      clients_.push_back(
          std::make_unique<ModelClient>(timeline_, random_, network_, oracle_, "c" + std::to_string(i + 1)));
    }
  }

  Outcome run() {
    begin_faults();
    const std::int64_t calm_from_ms = timeline_.now_ms() + kFaultsMs;
    while (!oracle_.violation() && timeline_.now_ms() < calm_from_ms) timeline_.step();
    if (!oracle_.violation()) begin_calm();
    const std::int64_t end_ms = timeline_.now_ms() + kCalmMsMax;
    while (!oracle_.violation() && timeline_.now_ms() < end_ms && !is_done()) timeline_.step();
    if (!oracle_.violation() && !is_done()) oracle_.violated("in calm there is no end: " + what_is_left());
    if (!oracle_.violation()) oracle_.ended(host_.disk());
    std::uint64_t jobs_n = 0;
    while (oracle_.job(jobs_n + 1) != nullptr) ++jobs_n;
    return {.violation = oracle_.violation(), .at_ms = timeline_.now_ms(), .jobs_n = jobs_n, .crashes_n = crashes_n_};
  }

 private:
  void begin_faults() {
    // Each seed has its own mixture, so that some worlds lack what would hide a bug in others.
    const auto sometimes = [&](double probability) {
      return random_.chance(0.6) ? probability * random_.chance(0.5) + probability / 10 : 0.0;
    };
    network_.weather = {
        .lost = sometimes(0.2), .repeated = sometimes(0.2), .late = sometimes(0.1), .delay_ms = random_.between(0, 50)};
    for (auto& worker : workers_) worker->error_chance = sometimes(0.2);
    host_.down_ms_max = random_.chance(0.5) ? 500 : 6'000;
    fault_gap_ms_ = random_.between(200, 4'000);
    timeline_.after(0, [this] { fault(); });
    for (auto& client : clients_) {
      for (std::size_t i = 0; i < kBatches; ++i) {
        timeline_.after(random_.between(0, kFaultsMs), [this, &client = *client, i] { client.submit(batch(i)); });
      }
    }
  }

  void begin_calm() {
    say("calm");
    is_calm_ = true;
    network_.weather = {};
    host_.down_ms_max = 100;
    for (auto& worker : workers_) {
      worker->error_chance = 0;
      worker->freeze(0);
      worker->start();
    }
  }

  void fault() {
    if (is_calm_) return;
    ModelWorker& worker = *workers_[random_.below(workers_.size())];
    switch (random_.below(12)) {
      case 0:
        say("the broker crashes");
        ++crashes_n_;
        host_.crash();
        break;
      case 1:
        say("the broker crashes before a commit");
        ++crashes_n_;
        host_.crash_at(CrashPoint::before_commit);
        break;
      case 2:
        say("the broker crashes after a commit");
        ++crashes_n_;
        host_.crash_at(CrashPoint::after_commit);
        break;
      case 3:
        say("a worker crashes");
        worker.crash();
        come_back(worker, 5'000);
        break;
      case 4:
        say("a worker crashes for good");
        worker.crash();
        break;
      case 5:
        say("a worker leaves");
        worker.leave();
        come_back(worker, 2'000);
        break;
      case 6:
        say("a worker reconnects");
        worker.reconnect();
        break;
      case 7:
        say("a worker freezes");
        worker.freeze(random_.between(100, 8'000));
        break;
      case 8:
        say("the broker's clock jumps");
        host_.jump(random_.between(100, 10'000));
        break;
      default:
        clients_[random_.below(clients_.size())]->submit_again();
        break;
    }
    timeline_.after(random_.between(1, fault_gap_ms_), [this] { fault(); });
  }

  void come_back(ModelWorker& worker, std::int64_t ms) {
    timeline_.after(random_.between(0, ms), [&worker] { worker.start(); });
  }

  // Few sources, so that clients ask for the same work.
  SubmitBatch batch(std::size_t number) {
    SubmitBatch batch{.run = "run " + std::to_string(random_.below(2)), .jobs = {}, .blobs = {}};
    const auto jobs_n = random_.between(1, 4);
    for (std::int64_t i = 0; i < jobs_n; ++i) {
      const std::string source =
          (random_.chance(0.05) ? std::string(kPoison) : "source ") + std::to_string(random_.below(24));
      Submission submission;
      submission.label = source + " of batch " + std::to_string(number);
      submission.files = {{"kernel.py", sha256(source)}};
      submission.problem.name = "problem " + std::to_string(random_.below(3));
      submission.problem.file = "problem.py";
      submission.problem.hash = sha256(submission.problem.name);
      submission.device = static_cast<DeviceWish>(random_.below(3));
      if (submission.device == DeviceWish::cuda && random_.chance(0.5))
        submission.gpu_model = random_.chance(0.5) ? "H200" : "A100";
      batch.blobs.push_back({submission.files[0].hash, source});
      batch.blobs.push_back({submission.problem.hash, submission.problem.name});
      batch.jobs.push_back(std::move(submission));
    }
    return batch;
  }

  bool is_done() const {
    for (const auto& client : clients_) {
      if (!client->is_done()) return false;
    }
    return host_.is_up() && oracle_.all_finished();
  }

  std::string what_is_left() const {
    std::string text = oracle_.unfinished_text();
    for (const auto& client : clients_) {
      if (!client->is_done()) text += "; a batch without an answer";
    }
    return host_.is_up() ? text : text + "; the broker is down";
  }

  void say(const std::string& what) {
    if (tell_) tell_(std::to_string(timeline_.now_ms()) + " " + what);
  }

  Random random_;
  std::function<void(const std::string&)> tell_;
  Timeline timeline_;
  Oracle oracle_;
  Network network_{timeline_, random_};
  BrokerHost host_;
  std::vector<std::unique_ptr<ModelWorker>> workers_;
  std::vector<std::unique_ptr<ModelClient>> clients_;
  std::int64_t fault_gap_ms_ = 0;
  std::uint64_t crashes_n_ = 0;
  bool is_calm_ = false;
};

}  // namespace

Outcome run_world(std::uint64_t seed, Plant plant, const std::function<void(const std::string&)>& tell) {
  return World(seed, plant, tell).run();
}

}  // namespace kq::sim
