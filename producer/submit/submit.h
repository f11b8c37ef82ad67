// Sends validated jobs to the broker in batches until each is acknowledged or refused.
//
// The broker may have no room for some jobs of a batch. These are sent again after pauses that grow while the broker
// takes nothing, and later batches wait for them. Every acknowledged job is on the broker's disk, so a call that fails
// can be repeated, and no job runs twice.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/messages.h"
#include "producer/client/client.h"
#include "producer/client/wait.h"
#include "producer/submit/inspect.h"
#include "producer/submit/pack.h"

namespace kq::producer {

inline constexpr std::int64_t kSubmitTimeoutMs = 60'000;  // for one batch: longer than a restart of the broker takes
inline constexpr std::int64_t kFirstAnswerTimeoutMs = 15'000;  // for the first reply of a broker, which may be starting

// All jobs of a request in memory, for small sweeps.
struct Prepared {
  std::string run;
  std::string submitter{};
  std::vector<PackedJob> jobs;
  std::vector<std::string> notes{};  // what was left out on purpose
  std::size_t left_out_count = 0;    // kernels that are no jobs because of a mistake
  // One sentence for each mistake. A caller sends nothing where there are mistakes, except with --keep-going.
  std::vector<std::string> mistakes;
};
Prepared prepare(const SubmitRequest& request);

struct SubmittedJob {
  std::string label;
  JobAck ack;
  Requirements needs;
};
struct SubmitSummary {
  std::string run;
  // The answered jobs in their order. It is empty where SubmitOptions::answered gets them instead.
  std::vector<SubmittedJob> jobs;
  std::array<std::size_t, kEnumNames<Acceptance>.size()> counts{};
  // Why the remaining jobs were not sent: no broker, an interrupt, or a file that changed. The same call sends them
  // later.
  std::optional<Error> stopped;

  std::size_t count(Acceptance acceptance) const { return counts[static_cast<std::size_t>(acceptance)]; }
  std::size_t answered_count() const;
  void count_one(Acceptance acceptance) { ++counts[static_cast<std::size_t>(acceptance)]; }
  void add(SubmittedJob job);
  WaitList to_wait_for() const;  // the accepted and reused jobs, for wait_for()
};
// The state of a call while the broker has no room for some jobs, because a quota, the queue or the disk is full.
struct Busy {
  std::size_t waiting = 0;   // jobs for which the broker had no room
  std::size_t answered = 0;  // jobs of this call that the broker has acknowledged or refused
  std::size_t total = 0;
  std::string reason;         // the broker's reason for the first of the waiting jobs
  std::int64_t retry_ms = 0;  // the pause before they are sent again
};
struct SubmitOptions {
  // The limit of the time for which the call waits for room, and also of the wait for each reply where that is shorter.
  // Without a value the call waits for room without limit.
  std::optional<std::int64_t> timeout_ms;
  std::function<void(const Busy&)> busy = [](const Busy&) {};
  std::function<void()> connected = [] {};       // called once a broker has answered, before the first job is sent
  std::function<void(SubmittedJob)> answered{};  // gets each answered job; empty: the summary keeps them
};
// Sends all jobs in batches, and repeats those for which the broker has no room. It first asks whether a broker is
// running, for kFirstAnswerTimeoutMs, or for kSubmitTimeoutMs where `timeout_ms` is set. Each batch has
// kSubmitTimeoutMs. At the end of `timeout_ms` the call ends with ErrorKind::gave_up in `stopped`.
SubmitSummary submit(Client& client, const JobSource& source, const SubmitOptions& options = {});
SubmitSummary submit(Client& client, const Prepared& prepared, const SubmitOptions& options = {});

// Calls `visit` with the batches of a source, each with as many jobs as fit.
using VisitBatch = std::function<Expected<void>(const SubmitBatch& batch)>;
Expected<void> each_batch(const JobSource& source, const VisitBatch& visit);

// The acknowledgements of one batch. Where jobs are still `busy`, `error` says why they were not sent again.
struct BatchEnd {
  std::vector<JobAck> acks;
  std::optional<Error> error;
};
BatchEnd send_batch(Client& client, const SubmitBatch& batch, const SubmitOptions& options);

inline constexpr std::int64_t kBusyPauseMsMin = 100;     // the shortest pause, even where the broker asks for less
inline constexpr std::int64_t kBusyPauseMsMax = 30'000;  // the longest pause; pauses double while no job is taken

// "broker is busy, 12 of 200 jobs wait for room: REASON; trying again in 2 s".
std::string busy_text(const Busy& busy);

// Calls `say` when the broker is busy: at once where the reason is new, and otherwise every kBusyReportMs.
class BusyReporter {
 public:
  BusyReporter(std::function<std::int64_t()> now_ms, std::function<void(const std::string&)> say);
  void operator()(const Busy& busy);

 private:
  std::function<std::int64_t()> now_ms_;
  std::function<void(const std::string&)> say_;
  std::optional<std::string> reason_;
  std::int64_t reported_ms_ = 0;
};
inline constexpr std::int64_t kBusyReportMs = 10'000;

// Returns a random SubmitRequest::salt, with which the broker reuses no finished jobs.
Expected<std::string> random_salt();

}  // namespace kq::producer
