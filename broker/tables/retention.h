// The progress of retention (gc/retention.h): where its walks are, and what they have removed.
//
// Nothing here is on disk but `from`, which only saves a starting broker a walk over removed records.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "broker/tables/hash_filter.h"
#include "core/job.h"
#include "core/submission.h"

namespace kq::broker {

struct Retention {
  enum class Phase { none, jobs, submissions, files };

  // A walk over removed records costs as much as one over present records, so a step passes at most this many
  // sequences, whether their jobs are there or not.
  static constexpr Sequence kSpanPerStep = 8'192;

  Sequence from = 1;  // no job has a lower sequence
  // The jobs and files that the Tick of this turn removed. The store still has them until the turn is committed.
  std::set<Sequence> removed{};
  std::set<Hash> removed_files{};

  // Called at a restart if jobs were removed before it. `first` is the first sequence that may still have a job.
  void begin_at(Sequence first, std::int64_t now_ms) {
    from = first;
    removed_count = 1;  // the files of jobs that were removed before may not have been swept
    last_sweep_ms = now_ms;
  }
  // Protects the files of a job of this turn from a sweep that is under way.
  void add_named_files(const Submission& submission) {
    if (phase != Phase::submissions && phase != Phase::files) return;
    for (const SourceFile& file : submission.files) named.add(file.hash);
    named.add(submission.problem.hash);
  }

  Phase phase = Phase::none;
  std::int64_t next_ms = 0;            // the time of the next step, or of the next walk
  std::int64_t began_ms = 0;           // when this walk began
  Sequence at = 1;                     // where the walk over jobs or submissions continues
  Sequence first_kept = 0;             // the first job that this walk left; 0 while there is none
  std::uint64_t too_recent_count = 0;  // jobs in a row, up to `at`, that were submitted too recently
  std::string file_at{};               // where the walk over files continues
  HashFilter named{};                  // the files that jobs name; filled and used in the last two phases
  std::uint64_t walk_count = 0;        // sweeps so far; the salt of the next filter
  std::uint64_t removed_count = 0;     // jobs removed since the last sweep of files
  std::int64_t last_sweep_ms = 0;      // when the last sweep of files ended, or the broker started; 0 before that
};

}  // namespace kq::broker
