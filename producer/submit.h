// The flow of kq-submit without a terminal: inputs -> validated jobs -> acknowledged jobs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/messages.h"
#include "producer/client.h"
#include "producer/pack.h"
#include "producer/wait.h"

namespace kq {

struct SubmitRequest {
  std::vector<std::filesystem::path> inputs;
  InputOptions options;
  std::string run;           // empty: the name of the first input's directory
  std::uint32_t repeat = 1;  // each job this often, at most kRepeatMax
  std::string salt;          // empty: identical finished work is reused; otherwise random text that makes every job new
};

inline constexpr std::uint32_t kRepeatMax = 1'000;
inline constexpr std::size_t kSubmissionsMax = 1'000'000;  // of one call
inline constexpr std::int64_t kSubmitTimeoutMs = 60'000;   // for the acknowledgement of one batch by a busy broker

struct Prepared {
  std::string run;
  std::vector<PackedJob> jobs;
  std::vector<std::string>
      mistakes;  // one sentence each; a caller sends nothing while there are any, unless told to keep going
};
// Reads and validates everything; sends nothing and needs no broker.
Prepared prepare(const SubmitRequest& request);

struct SubmittedJob {
  std::string label;
  JobAck ack;
  DeviceWish device = DeviceWish::any;
  std::string gpu_model;
};
struct SubmitSummary {
  std::string run;
  std::vector<SubmittedJob> jobs;  // those the broker answered, in order; what it accepted is on its disk
  std::optional<Error>
      stopped;  // why the rest was not sent: no broker, interrupted, a file that changed; submitting again goes on

  std::size_t count(Acceptance acceptance) const;
  std::vector<WaitedJob> to_wait_for() const;  // accepted and reused ones, for wait_for()
};
// Sends all jobs in batches. Fails fast when there is no broker: a first question has kAnswerTimeoutMs, each batch
// kSubmitTimeoutMs.
SubmitSummary submit(Client& client, const Prepared& prepared);

}  // namespace kq
