// Lanes, workers and pauses as kq-ctl and kq-top print them: as members of JSON, and as cells of a table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/messages.h"
#include "producer/client/json.h"

namespace kq::tools {

producer::JsonObject needs_object(const Requirements& needs);
producer::JsonObject lane_object(const LaneRow& lane);

// Returns a worker with this state.
producer::JsonObject worker_object(const WorkerStatus& worker, const std::string& state);

// Returns "paused", "served" or "no worker".
std::string lane_state(const LaneRow& lane);

// Returns for example "8 x NVIDIA H200", what a worker without devices builds for, and what it no longer uses.
std::string devices_text(const WorkerStatus& worker);

std::vector<std::string> backends_of(const WorkerStatus& worker);

// What is paused at a broker, as its metrics tell it.
struct Pauses {
  bool is_queue_paused = false;
  std::uint64_t count = 0;           // of the submitters that are paused by their names
  std::vector<std::string> names{};  // of these; the broker names a limited number of them

  // Returns whether a submitter may be paused by its name: it is, or the broker does not name all.
  bool may_have(const std::string& submitter) const;
};

Pauses pauses_of(const StatsReply& stats);

// Says what holds back the jobs of a submitter, such as "the queue is paused; an operator ends the pause with kq-ctl
// resume". Either the queue or the submitter is paused, or was when the broker was asked before.
std::string pause_text(const Pauses& pauses, const std::string& submitter);

// Returns for example "2 submitters are paused: ann, bob". A broker of an earlier version names none.
std::string pauses_text(const Pauses& pauses);

}  // namespace kq::tools
