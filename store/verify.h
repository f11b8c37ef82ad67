// Checks that a store keeps the broker's invariants: every record is readable and every reference resolves; every file
// of a submission exists and has the hash that its name states; every job that waits for a time has its timer; every
// board equals one recomputed from the jobs that passed. The check makes one pass per family and looks references up,
// so its memory does not depend on the number of jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "store/store.h"

namespace kq::store {

// What verify() counted, and the number of problems that it found.
struct Verified {
  std::uint64_t queued_count = 0;
  std::uint64_t leased_count = 0;
  std::uint64_t finished_count = 0;
  std::uint64_t result_count = 0;
  std::uint64_t blob_count = 0;
  std::uint64_t blob_bytes = 0;   // as stored, packed or raw
  std::uint64_t label_count = 0;  // of all runs
  std::uint64_t board_row_count = 0;
  std::uint64_t problem_count = 0;

  friend bool operator==(const Verified&, const Verified&) = default;
};

// Calls `report` with one line per problem: its place, what is wrong and what was expected. Returns an Error if the
// store cannot be read further.
Expected<Verified> verify(const Store& store, const std::function<void(const std::string& problem)>& report);

}  // namespace kq::store
