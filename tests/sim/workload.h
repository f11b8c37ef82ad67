// The jobs of a simulated world and their results. There are few different sources, so that users submit the same work.
// The result depends only on the source and the device, so that all attempts of a job agree.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/messages.h"
#include "producer/submit/submit.h"
#include "tests/sim/random.h"

namespace kq::sim {

// What the users of one world ask for. Each world lacks some of it, as with faults: a queue lane only grows long if all
// jobs are alike.
struct WorkloadProfile {
  std::uint64_t sources = 24;
  std::int64_t jobs_per_order_max = 4;
  bool devices = true;  // jobs may require a device
  bool priorities = true;
  bool labels = true;  // jobs may require labels and backends
  bool times = true;   // jobs may have start times and deadlines
};
WorkloadProfile draw_workload_profile(Random& random);

// Draws the jobs that a user submits at once. `number` counts the orders of the user.
producer::Prepared draw_order(Random& random, const WorkloadProfile& profile, const std::string& submitter,
                              std::size_t number);

// Returns the verdict of an attempt without a fault.
VerdictName verdict_of(const Lease& lease);
// Whether the job may kill its worker.
bool is_poison(const Submission& submission);

// Returns the artifact of the submission for the device, which differs from that of every other submission or
// architecture.
BuildObject object_of(const Submission& submission, const DeviceInfo& device);

// Returns texts and numbers that name an attempt. They are stored in results in fields that the broker does not read.
std::string tag_of(const LeaseId& lease);
std::vector<std::int64_t> samples_of(const LeaseId& lease);
// Returns the tag in a result, or an empty text if no worker made the result.
std::string tag_in(const Result& result);

}  // namespace kq::sim
