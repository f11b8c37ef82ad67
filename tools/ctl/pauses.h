// What is paused at a broker, as its metrics tell it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/messages.h"

namespace kq::tools {

struct Pauses {
  bool is_queue_paused = false;
  std::uint64_t count = 0;           // of the submitters that are paused by their names
  std::vector<std::string> names{};  // of these; the broker names a limited number of them

  // Returns whether a submitter may be paused by its name: it is, or the broker does not name all.
  bool may_have(const std::string& submitter) const;
};

Pauses pauses_of(const StatsReply& stats);

// Returns for example "2 submitters are paused: ann, bob". A broker of an earlier version names none.
std::string pauses_text(const Pauses& pauses);

}  // namespace kq::tools
