// The worker's pure core: which lease is where in the house, what the broker must hear, what starts next.
//
// A lease walks  waiting_build -> building -> waiting_run -> running -> reporting  and leaves when the broker has
// acknowledged its result. No clock, no socket, no process: step() takes an event and the time, Ready says what to do.
// Results are kept and sent again until acknowledged; held leases are listed in every heartbeat; a broker that forgot
// us hears Hello again. A lease that the broker revokes is forgotten at once; where a lane or a build is at work on it,
// that is told to stop, and what it says in the end goes nowhere.
//
// Where a device is lost, its leases go to one like it. Where there is none left they are given back, which is no
// failure of theirs: nothing new begins, and once what runs is with the broker, Goodbye gives back all that waits;
// Hello follows at once.
//
// A worker without devices builds for others: what a BuildBatch brings walks waiting_build -> building -> reporting,
// under attempt 0.
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

struct WorkerOptions {
  std::string name;
  std::uint64_t epoch = 0;
  std::vector<DeviceInfo> devices;    // one lane each; none where it only builds
  std::vector<std::string> closed{};  // a sentence for each that was wanted too and did not open: told as quarantined
  std::vector<std::string> labels{};  // sorted; jobs may ask for them
  std::vector<Backend> backends{};    // that work here; empty: all
  Host host{};                        // of every result
  std::uint32_t build_slots = 1;      // builds at once; each beyond the first asks for a lease more
  std::uint32_t leases_ahead = 2;     // per device, beyond the one that runs: the next job is already here
  std::vector<DeviceInfo> builds_for{};  // kinds and architectures, of a worker that only builds
  std::int64_t resend_ms = 1000;         // Hello until welcomed, results until acknowledged
};

// What the build lane made of a lease: a directory of files for the device lane, or the end of the job.
struct Built {
  std::optional<Verdict> verdict;
  std::string dir;
  bool cached = false;
  std::int64_t ms = 0;
  Toolchain toolchain = {};
  std::optional<BuildObject> object = {};  // of a build for others: what they may have of it
};

struct BrokerMessage {
  WorkerReply reply;
};
struct BuildDone {
  LeaseId lease;
  Expected<Built> built;
};  // each BuildStart ends with one, stopped or not
struct RunDone {
  LeaseId lease;
  Expected<Result> result;
};
// A device that did not come back clean: nothing runs on it any more.
struct DeviceLost {
  std::size_t device = 0;
  std::string why;
};
struct DrainRequested {};  // take nothing new, finish what runs, say Goodbye
struct Tick {};
using WorkerEvent = std::variant<BrokerMessage, BuildDone, RunDone, DeviceLost, DrainRequested, Tick>;

struct BuildStart {
  std::shared_ptr<const Lease> lease;
};
struct RunStart {
  std::shared_ptr<const Lease> lease;
  Built built;
  std::size_t device = 0;
};

struct WorkerReady {
  std::vector<WorkerRequest> sends;
  std::vector<BuildStart> builds;
  std::vector<RunStart> runs;
  std::vector<LeaseId> stops;  // of builds and runs that were started: nobody wants them any more
  std::vector<std::string> notes;
  std::int64_t wake_at_ms = 0;  // step(Tick) is due then
  bool finished = false;        // drained: Goodbye is among the sends
};

class Worker {
 public:
  explicit Worker(WorkerOptions options);

  WorkerReady step(WorkerEvent event, std::int64_t now_ms);

 private:
  enum class Phase { waiting_build, building, waiting_run, running, reporting, returning, stopping };
  struct Held {
    std::shared_ptr<const Lease> lease;
    Phase phase = Phase::waiting_build;
    std::size_t device = 0;
    Built built;
    int passed_over = 0;           // times another lease ran first because its problem's reference was up
    std::optional<Result> result;  // one of the three while reporting
    std::optional<BuildObject> object;
    std::string error;
    std::int64_t sent_at_ms = 0;
  };

  void on(BrokerMessage& said, std::int64_t now_ms, WorkerReady& ready);
  void on(BuildDone& done, std::int64_t now_ms, WorkerReady& ready);
  void on(RunDone& done, std::int64_t now_ms, WorkerReady& ready);
  void on(DeviceLost& lost, std::int64_t now_ms, WorkerReady& ready);
  void on(DrainRequested&, std::int64_t now_ms, WorkerReady& ready);
  void on(Tick&, std::int64_t now_ms, WorkerReady& ready);

  void take(LeaseBatch& batch);
  void take(BuildBatch& batch);
  void settle(Held& held);
  bool begins_nothing() const { return draining_ || count(Phase::returning) > 0; }
  void revoke(const LeaseId& id, WorkerReady& ready);
  std::optional<std::size_t> lane_for(const Held& lease) const;
  Held* next_run(std::size_t device);
  Held* run_of_another(std::size_t device);
  void report(Held& held, Expected<Result> result);
  void report_build(Held& held, Expected<Built> built);
  void start_builds(WorkerReady& ready);
  void start_runs(WorkerReady& ready);
  void talk(std::int64_t now_ms, WorkerReady& ready);
  void give_back(std::int64_t now_ms, WorkerReady& ready);
  bool has_lost_one_like(const DeviceInfo& device) const;
  std::size_t count(Phase phase) const;

  WorkerOptions options_;
  std::map<LeaseId, Held> held_;
  std::vector<bool> busy_;          // by device
  std::vector<std::string> lost_;   // by device: why nothing runs on it any more; empty where all is well
  std::vector<Hash> last_problem_;  // by device: its reference child is up
  bool welcome_ = false;
  bool draining_ = false;
  std::int64_t heartbeat_ms_ = 1000;
  std::int64_t next_hello_ms_ = 0;
  std::int64_t next_heartbeat_ms_ = 0;
};

}  // namespace kq::worker
