// What is removed, and when: jobs that ended long ago, and the files that only they named.
//
// A walk goes over the finished jobs from the oldest to the youngest, some at each Tick, and rests. Everything of a job
// goes in one commit: its records, its key, its entries in runs. What stays however old it is: unfinished jobs, and the
// job behind each row of a board, without which nobody could check the row.
//
// Files are named by many jobs. To count who names each would cost every submission a read and a write, so they are
// swept, seldom: one walk over the submissions that are left fills a filter of what they name (what is submitted
// meanwhile is added to it), then one over the files removes what is not in it. A broker that ends meanwhile begins
// anew.
//
// Owned by State. Nothing here is on disk but `from`, which only saves the next start a walk over what was removed.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "broker/gc/hash_filter.h"
#include "core/base/error.h"
#include "core/job.h"
#include "core/submission.h"

namespace kq::broker {

struct Step;

struct Retention {
  enum class Walk { none, jobs, submissions, files };

  // A walk over removed records costs as much as over present ones: a step passes at most so many, here or gone.
  static constexpr Sequence kSpanPerStep = 8'192;

  Sequence from = 1;  // no job lies below it
  // Removed by the Tick of this turn, and still there for whoever reads the store.
  std::set<Sequence> removed{};
  std::set<Hash> removed_files{};

  // A restart: something was removed before.
  void begin_at(Sequence first, std::int64_t now_ms);
  // A job of this turn needs its files.
  void name_files(const Submission& submission);

  Walk walk = Walk::none;
  std::int64_t next_ms = 0;   // of its next step, or of the next walk
  std::int64_t began_ms = 0;  // of this walk
  Sequence at = 1;            // where the walk over jobs or submissions goes on
  Sequence survivor = 0;      // the first job that this walk left; 0: none so far
  std::uint64_t young_n = 0;  // jobs in a row, up to `at`, that were submitted too lately to be old
  std::string file_at{};
  HashFilter named{};  // while walking over submissions and files
  std::uint64_t walks_n = 0;
  std::uint64_t removed_n = 0;   // since the files were swept
  std::int64_t files_at_ms = 0;  // when they were, or the broker started
};

// The part of a Tick that removes. The last one: what the others ended is not old.
Expected<void> retain(Step& step);

}  // namespace kq::broker
