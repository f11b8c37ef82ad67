// The worker's pure core: it knows the state of every lease that the worker has, decides what starts next, and decides
// what the broker is told.
//
// Theory of operation. A lease goes through the phases
//
//   waiting_build -> building -> waiting_run -> running -> reporting
//
// and is dropped when the broker has acknowledged its result. There is no clock, socket or process here: step() takes
// an event and the time, and returns in a WorkerReady what the caller has to do.
//
// Results are kept and sent again until the broker acknowledges them. Every heartbeat lists all leases. A broker that
// does not know the worker (any more) gets Hello again. Heartbeats name the builds in progress too; when such a build
// has become long, or one that a heartbeat named has ended, the next heartbeat is sent early. A lease that the broker
// revokes is dropped at once if nothing works on it; otherwise its build or run is told to stop, and its outcome is
// discarded.
//
// When a device is lost, its leases move to an equivalent device of this worker. If there is none, they are returned to
// the broker, which does not count as a failure: nothing new starts until the broker has the results of what runs, then
// Goodbye returns all leases that wait, and Hello follows at once.
//
// A worker without devices builds for other workers. The builds of a BuildBatch have attempt 0 and go through
// waiting_build -> building -> reporting.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/messages.h"

namespace kq::worker {

// Builds without extensions take a second or less. They do not wait until a build of an extension ends, because this
// many of them run beside. The broker leaves them credit.
inline constexpr std::uint32_t kQuickSlots = 1;

// A build that takes longer than this is long: the broker is told about it before the next heartbeat is due. Heartbeats
// are at least as far apart.
inline constexpr std::int64_t kLongBuildMs = 1'000;

struct WorkerOptions {
  std::string name;
  std::uint64_t epoch = 0;
  std::vector<DeviceInfo> devices;      // one lane each; empty for a worker that only builds
  std::vector<std::string> unopened{};  // one sentence for each device that could not be opened: sent as quarantined
  std::vector<std::string> labels{};    // sorted; jobs may require them
  std::vector<Backend> backends{};      // that work on this machine; empty: all
  Host host{};                          // goes into every result
  // Concurrent builds; each beyond the first adds one lease of credit. kQuickSlots more run while builds of extensions
  // take all of these; each of them adds one lease too.
  std::uint32_t build_slots = 1;
  // The same while no device has a job, if that is more: then jobs wait for builds, and builds for nothing.
  std::uint32_t build_slots_without_jobs = 0;
  std::uint32_t leases_ahead = 2;        // leases per device beyond the running one
  std::vector<DeviceInfo> builds_for{};  // kinds and architectures that a worker without devices builds for
  std::int64_t resend_ms = 1000;         // how often Hello and results are sent again until they are answered
};

// What a build returned: a directory of files for the run, or the verdict that ends the job.
struct Built {
  std::optional<Verdict> verdict;
  std::string dir;
  bool cached = false;
  std::int64_t ms = 0;
  Toolchain toolchain = {};
  std::optional<Extensions> extensions = {};  // of a submission that calls load_inline or load
  std::vector<ReviewFinding> findings = {};   // of a build that the guard does not reject
  std::optional<BuildObject> object = {};     // the packed files, of a build for another worker
};

struct BrokerMessage {
  WorkerReply reply;
};
// The end of a build. Each BuildStart is answered by one, whether or not the build was stopped.
struct BuildDone {
  LeaseId lease;
  Expected<Built> built;
};
// The end of a run. Each RunStart is answered by one.
struct RunDone {
  LeaseId lease;
  Expected<Result> result;
};
// A device was quarantined, which the worker calls lost: nothing may run on the device any more.
struct DeviceLost {
  std::size_t device = 0;
  std::string reason;
};
// The worker is to end: it accepts nothing new, finishes what runs and says Goodbye.
struct DrainRequested {};
struct Tick {};
using WorkerEvent = std::variant<BrokerMessage, BuildDone, RunDone, DeviceLost, DrainRequested, Tick>;

struct BuildStart {
  std::shared_ptr<const Lease> lease;
  bool is_beside_jobs = true;  // a device has a job, which the build may delay
};
struct RunStart {
  std::shared_ptr<const Lease> lease;
  Built built;
  std::size_t device = 0;
};

// What the caller of step() has to do.
inline constexpr std::int64_t kSilenceToldMs = 5'000;  // without an answer to Hello

struct WorkerReady {
  std::vector<WorkerRequest> sends;
  std::vector<BuildStart> builds;
  std::vector<RunStart> runs;
  std::vector<LeaseId> stops;  // builds and runs in progress whose outcome is not needed any more
  std::vector<std::string> notes;
  bool connected = false;   // the broker has answered the first Hello, or the first one after a silence that was told
  bool unanswered = false;  // no broker has answered a Hello for kSilenceToldMs; told once
  std::int64_t wake_at_ms = 0;  // when to call step(Tick)
  bool finished = false;        // the worker may end: Goodbye is among the sends
};

class Worker {
 public:
  explicit Worker(WorkerOptions options);

  WorkerReady step(WorkerEvent event, std::int64_t now_ms);

 private:
  enum class Phase { waiting_build, building, waiting_run, running, reporting, returning, stopping };
  struct HeldLease {
    std::shared_ptr<const Lease> lease;
    Phase phase = Phase::waiting_build;
    std::size_t device = 0;
    Built built;
    bool is_slow = false;  // the build compiles extensions, unless the cache has them
    std::int64_t build_started_ms = 0;
    bool is_build_known = false;  // the last heartbeat named the build
    int passed_over = 0;          // how often a newer lease ran first because its problem's reference child was kept
    // While reporting exactly one of these three is set.
    std::optional<Result> result;
    std::optional<BuildObject> object;
    std::string error;
    std::int64_t sent_at_ms = 0;
  };
  // What a step works with besides its event.
  struct Step {
    std::int64_t now_ms;
    WorkerReady& ready;
  };

  void on(BrokerMessage& message, Step step);
  void on(BuildDone& done, Step step);
  void on(RunDone& done, Step step);
  void on(DeviceLost& lost, Step step);
  void on(DrainRequested&, Step step);
  void on(Tick&, Step step);

  void on_reply(Welcome& welcome, Step step);
  void on_reply(LeaseBatch& batch, Step step);
  void on_reply(BuildBatch& batch, Step step);
  void on_reply(ResultAck& ack, Step step);
  void on_reply(Revoke& revoked, Step step);
  void on_reply(Unknown&, Step step);
  void on_reply(Refused& refused, Step step);

  void assign_device(HeldLease& held);
  void revoke(const LeaseId& id, WorkerReady& ready);
  std::optional<std::size_t> device_for(const HeldLease& held) const;
  bool has_lost_equivalent(const DeviceInfo& device) const;
  void report(HeldLease& held, Expected<Result> result);
  void report_build(HeldLease& held, Expected<Built> built);

  bool is_start_blocked() const { return draining_ || count(Phase::returning) > 0; }
  void start_builds(Step step);
  void start_runs(WorkerReady& ready);
  HeldLease* next_run(std::size_t device);
  HeldLease* steal_run(std::size_t device);
  std::uint32_t build_slots_max() const { return std::max(options_.build_slots, options_.build_slots_without_jobs); }

  void send_messages(Step step);
  void return_leases(Step step);
  void send_hello(Step step);
  void send_results(Step step);
  std::int64_t heartbeat_due_ms() const;
  void send_heartbeat(Step step);
  std::size_t count(Phase phase) const;

  WorkerOptions options_;
  std::map<LeaseId, HeldLease> leases_;
  std::vector<bool> busy_;          // by device
  std::vector<std::string> lost_;   // by device: why it is quarantined; empty for a usable device
  std::vector<Hash> last_problem_;  // by device: the problem whose reference child the lane keeps
  bool welcome_ = false;
  bool draining_ = false;
  std::int64_t heartbeat_ms_ = 1000;
  std::int64_t next_hello_ms_ = 0;
  std::optional<std::int64_t> unanswered_since_ms_;  // the time of the first Hello without an answer
  bool is_connection_told_ = false;                  // whether the last that was told is that the broker answers
  bool is_silence_told_ = false;
  std::string told_refusal_;            // why the broker refuses this worker; empty after a Welcome
  std::int64_t next_heartbeat_ms_ = 0;  // unless builds make one due earlier
  std::int64_t last_heartbeat_ms_ = 0;
};

}  // namespace kq::worker
