// A worker with invented results. It speaks the protocol of kq-worker (gpu_worker/core/worker.h) on a real link, but
// runs no job and needs no torch. kill_loop.py and other tests use it to finish thousands of jobs.
//
//   light_worker URL NAME [builds]
//
// With `builds` the worker only builds artifacts for other workers, and the bytes of each artifact name the submission
// that it was built from. If a lease comes with the artifact of another submission, the result is gpu_fault; no other
// job gets this verdict.
//
// A job whose label ends in 9 or contains problem_9 gets wrong_answer. Every other job passes with a random time. A job
// whose label ends in 77 runs for up to three seconds, so that late results of another worker can arrive meanwhile. The
// field `worker` of a result is NAME SEQ/ATTEMPT.
#include <sys/random.h>

#include <algorithm>
#include <cstdio>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <string_view>

#include "core/codec/codec.h"
#include "gpu_worker/core/worker.h"
#include "net/endpoint.h"
#include "net/zmq/link.h"
#include "sys/clock.h"

namespace {

using namespace kq;

constexpr std::size_t kDevices = 8;
constexpr std::int64_t kRunMsMax = 5;
constexpr std::int64_t kLongRunMsMax = 3'000;
constexpr std::int64_t kPollMs = 20;  // the longest wait for a message
constexpr std::int64_t kBuildMsMax = 40;

// Builds for other workers have leases with attempt 0 (gpu_worker/core/worker.h).
bool is_for_another_worker(const Lease& lease) {
  return lease.id.attempt == 0;
}

// Returns the artifact of the lease's submission.
BuildObject object_of(const Lease& lease) {
  const Hash key = submission_key(lease.submission);
  const std::string bytes = "built of " + to_hex(key);
  return {.kind = lease.device.kind, .arch = lease.device.arch, .key = key, .hash = sha256(bytes), .bytes = bytes};
}

// The worker core with simulated lanes.
class LightWorker {
 public:
  LightWorker(net::ClientLink& link, std::string name, std::uint64_t epoch, bool only_builds)
      : link_(link),
        name_(std::move(name)),
        random_(epoch),
        worker_(only_builds ? builder_options(epoch) : options(epoch)) {}

  // Works until the link fails.
  Expected<void> work() {
    for (;;) {
      std::int64_t wait_ms = std::clamp<std::int64_t>(wake_at_ms_ - sys::monotonic_now_ms(), 0, kPollMs);
      if (!running_.empty())
        wait_ms = std::clamp<std::int64_t>(running_.begin()->first - sys::monotonic_now_ms(), 0, wait_ms);
      KQ_TRY_VALUE(auto packet, link_.receive(wait_ms));
      if (packet) {
        KQ_TRY_VALUE(auto message, decode_message<WorkerReply>(*packet));
        step(worker::BrokerMessage{std::move(message.body)});
      }
      const std::int64_t now_ms = sys::monotonic_now_ms();
      while (!running_.empty() && running_.begin()->first <= now_ms) {
        const auto lease = running_.extract(running_.begin()).mapped();
        if (is_for_another_worker(*lease)) {
          step(worker::BuildDone{lease->id, worker::Built{.verdict = std::nullopt,
                                                          .dir = "none",
                                                          .cached = false,
                                                          .ms = 1,
                                                          .toolchain = {},
                                                          .object = object_of(*lease)}});
        } else {
          step(worker::RunDone{lease->id, result_of(*lease)});
        }
      }
      if (now_ms >= wake_at_ms_) step(worker::Tick{});
    }
  }

 private:
  worker::WorkerOptions options(std::uint64_t epoch) const {
    DeviceInfo cpu;
    cpu.model = "made up";
    return {.name = name_,
            .epoch = epoch,
            .devices = std::vector<DeviceInfo>(kDevices, cpu),
            .build_slots = 64,
            .leases_ahead = 4};
  }

  worker::WorkerOptions builder_options(std::uint64_t epoch) const {
    return {.name = name_, .epoch = epoch, .devices = {}, .build_slots = 4, .builds_for = {DeviceInfo{}}};
  }

  void step(worker::WorkerEvent event) {
    std::deque<worker::WorkerEvent> events;
    events.push_back(std::move(event));
    for (; !events.empty(); events.pop_front()) {
      const worker::WorkerReady ready = worker_.step(std::move(events.front()), sys::monotonic_now_ms());
      for (const std::string& note : ready.notes) std::fprintf(stderr, "light_worker: %s\n", note.c_str());
      for (const worker::BuildStart& start : ready.builds) {
        if (is_for_another_worker(*start.lease)) {
          running_.emplace(
              sys::monotonic_now_ms() + std::uniform_int_distribution<std::int64_t>(1, kBuildMsMax)(random_),
              start.lease);
          continue;
        }
        events.push_back(worker::BuildDone{
            start.lease->id, worker::Built{.verdict = std::nullopt, .dir = "none", .cached = false, .ms = 1}});
      }
      for (const worker::RunStart& start : ready.runs) {
        const bool is_long = start.lease->submission.label.ends_with("77");
        std::uniform_int_distribution<std::int64_t> ms(0, is_long ? kLongRunMsMax : kRunMsMax);
        running_.emplace(sys::monotonic_now_ms() + ms(random_), start.lease);
      }
      for (const WorkerRequest& request : ready.sends) link_.send(encode_message(Message<WorkerRequest>{0, request}));
      wake_at_ms_ = ready.wake_at_ms;
    }
  }

  Result result_of(const Lease& lease) {
    Result result;
    result.device = lease.device;
    result.worker = name_ + " " + std::to_string(lease.id.seq) + "/" + std::to_string(lease.id.attempt);
    result.times.build_cached = lease.object.has_value();
    if (lease.object && *lease.object != object_of(lease)) {
      result.verdict = ended(VerdictName::gpu_fault, {});
      return result;
    }
    const std::string& label = lease.submission.label;
    if (label.ends_with('9') || label.find("problem_9") != std::string::npos) {
      result.verdict = ended(VerdictName::wrong_answer, {});
      return result;
    }
    Measurement measurement;
    measurement.method = "made up";
    measurement.submission = times();
    measurement.reference = times();
    result.verdict = Passed{measurement, {}};
    return result;
  }

  Statistics times() {
    std::vector<std::int64_t> samples_ns(20);
    for (std::int64_t& sample_ns : samples_ns)
      sample_ns = std::uniform_int_distribution<int>(1'000, 1'000'000)(random_);
    return summarise(samples_ns);
  }

  net::ClientLink& link_;
  const std::string name_;
  std::mt19937_64 random_;
  worker::Worker worker_;
  std::multimap<std::int64_t, std::shared_ptr<const Lease>> running_;  // builds and runs by the time of their end
  std::int64_t wake_at_ms_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t epoch = 0;
  const auto endpoints =
      argc >= 3 ? net::parse_broker_urls(argv[1]) : bad_input("usage: light_worker URL NAME [builds]");
  if (!endpoints || ::getrandom(&epoch, sizeof epoch, 0) != sizeof epoch) {
    std::fprintf(stderr, "light_worker: %s\n", endpoints ? "getrandom failed" : endpoints.error().message.c_str());
    return 2;
  }
  auto link = net::connect_brokers(*endpoints, net::Side::worker);
  const auto done = link ? LightWorker(**link, argv[2], epoch, argc > 3 && std::string_view(argv[3]) == "builds").work()
                         : failure(link.error());
  std::fprintf(stderr, "light_worker: %s\n", done.error().message.c_str());
  return 3;
}
