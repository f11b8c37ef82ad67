// The work of a world: few sources, so that users ask for the same; and what each comes to, wherever it runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/messages.h"
#include "producer/submit/submit.h"
#include "tests/sim/random.h"

namespace kq::sim {

// What the users of one world ask for. As with faults each world lacks some of it: where all jobs are alike their lane
// grows long.
struct Taste {
  std::uint64_t sources = 24;
  std::int64_t jobs_per_order_max = 4;
  bool devices = true;  // wishes for one
  bool priorities = true;
  bool labels = true;  // and backends
  bool times = true;   // not before, deadlines
};
Taste draw_taste(Random& random);

// What somebody submits at once.
producer::Prepared draw_order(Random& random, const Taste& taste, const std::string& submitter, std::size_t number);

// How an attempt ends that nothing disturbs: decided by the source and the device, so that attempts agree.
VerdictName verdict_of(const Lease& lease);
// Whether it may end its worker.
bool is_poison(const Submission& submission);

// What comes of its build for such a device: of no other submission, and of no other architecture.
BuildObject object_of(const Submission& submission, const DeviceInfo& device);

// Which attempt a result was computed for, written where the broker does not look.
std::string tag_of(const LeaseId& lease);
std::vector<std::int64_t> samples_of(const LeaseId& lease);
// The tag in a result; empty where no worker made it.
std::string tag_in(const Result& result);

}  // namespace kq::sim
