// The flow of kq-submit without a terminal: inputs -> validated jobs -> acknowledged jobs.
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

inline constexpr std::int64_t kSubmitTimeoutMs =
    60'000;  // for the acknowledgement of one batch: outlives a restart of the broker
inline constexpr std::int64_t kAwayTimeoutMs =
    15'000;  // for a broker that was not heard yet: it may be starting, or not be there at all

// All jobs at hand; for sweeps of a size that one looks at.
struct Prepared {
  std::string run;
  std::string submitter{};
  std::vector<PackedJob> jobs;
  std::vector<std::string> notes{};  // what was left out on purpose
  std::size_t left_out_count = 0;    // kernels that are no jobs because of a mistake
  std::vector<std::string>
      mistakes;  // one sentence each; a caller sends nothing while there are any, unless told to keep going
};
Prepared prepare(const SubmitRequest& request);

struct SubmittedJob {
  std::string label;
  JobAck ack;
  Requirements needs;
};
struct SubmitSummary {
  std::string run;
  std::vector<SubmittedJob> jobs;  // those the broker answered, in order, unless SubmitOptions::answered took them;
                                   // what it accepted is on its disk
  std::array<std::size_t, kEnumNames<Acceptance>.size()> counts{};
  std::optional<Error>
      stopped;  // why the rest was not sent: no broker, interrupted, a file that changed; submitting again goes on

  std::size_t count(Acceptance acceptance) const { return counts[static_cast<std::size_t>(acceptance)]; }
  std::size_t answered_n() const;
  void count_one(Acceptance acceptance) { ++counts[static_cast<std::size_t>(acceptance)]; }
  void add(SubmittedJob job);
  WaitList to_wait_for() const;  // accepted and reused ones, for wait_for()
};
// The broker has no room for some jobs: a quota, its queue or its disk is full.
struct Busy {
  std::size_t waiting = 0;   // jobs that were turned away just now
  std::size_t answered = 0;  // jobs of this call that are settled
  std::size_t total = 0;
  std::string reason;         // the broker's sentence about the first of them
  std::int64_t retry_ms = 0;  // until they are sent again
};
struct SubmitOptions {
  std::optional<std::int64_t>
      timeout_ms;  // of waiting for room; nothing: for ever. And of each answer, where it is shorter
  std::function<void(const Busy&)> busy = [](const Busy&) {};
  std::function<void(SubmittedJob)> answered{};  // each answer as it comes; nothing: they are kept in the summary
};
// Sends all jobs in batches; those the broker is too busy for again and again until it takes them, the others meanwhile
// stand back. A first question has kAwayTimeoutMs, or kSubmitTimeoutMs if whoever asks has set a time; each batch has
// kSubmitTimeoutMs. `stopped` says gave_up at the end of timeout_ms.
SubmitSummary submit(Client& client, const JobSource& source, const SubmitOptions& options = {});
SubmitSummary submit(Client& client, const Prepared& prepared, const SubmitOptions& options = {});

// The batches of a source, as many jobs in each as fit.
using VisitBatch = std::function<Expected<void>(const SubmitBatch& batch)>;
Expected<void> each_batch(const JobSource& source, const VisitBatch& visit);

// The acknowledgements of one batch; `error` says why the busy ones among them were not sent again.
struct BatchEnd {
  std::vector<JobAck> acks;
  std::optional<Error> error;
};
BatchEnd send_batch(Client& client, const SubmitBatch& batch, const SubmitOptions& options);

inline constexpr std::int64_t kBusyPauseMsMin = 100;     // whatever the broker asks for
inline constexpr std::int64_t kBusyPauseMsMax = 30'000;  // pauses double up to this while nothing is taken

// "broker is busy, 12 of 200 jobs wait for room: REASON; trying again in 2 s".
std::string busy_text(const Busy& busy);

// Tells somebody that the broker is busy: at once when the reason is new, else every kBusyNewsMs.
class BusyNews {
 public:
  BusyNews(std::function<std::int64_t()> now_ms, std::function<void(const std::string&)> say);
  void operator()(const Busy& busy);

 private:
  std::function<std::int64_t()> now_ms_;
  std::function<void(const std::string&)> say_;
  std::optional<std::string> reason_;
  std::int64_t said_ms_ = 0;
};
inline constexpr std::int64_t kBusyNewsMs = 10'000;

}  // namespace kq::producer
