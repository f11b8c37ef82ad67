// Whether a store is what the broker promises: every record readable, every reference met, every file that a submission
// names there and what its name says, every job that waits for a time with its timer, every board a refold of the jobs
// that passed. One pass per family, and what a record leads to is looked up; memory is the same for any number of jobs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "store/store.h"

namespace kq::store {

struct Verified {
  std::uint64_t queued_count = 0;
  std::uint64_t leased_count = 0;
  std::uint64_t finished_count = 0;
  std::uint64_t result_count = 0;
  std::uint64_t blob_count = 0;
  std::uint64_t blob_bytes = 0;   // as they lie there
  std::uint64_t label_count = 0;  // of all runs
  std::uint64_t board_row_count = 0;
  std::uint64_t problem_count = 0;

  friend bool operator==(const Verified&, const Verified&) = default;
};

// One line for each problem: where, what is wrong, what was expected. An Error means that the store could not be read
// on.
Expected<Verified> verify(const Store& store, const std::function<void(const std::string& problem)>& report);

}  // namespace kq::store
