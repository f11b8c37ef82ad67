// Planted bugs, which prove that the oracle would find such bugs. The broker itself is not changed: a planted bug
// changes what the broker writes, reads, receives or sends, as a bug in the broker would.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/core/options.h"
#include "core/base/enum_names.h"
#include "core/job.h"
#include "net/link.h"
#include "store/store.h"

namespace kq::sim {

class Oracle;

enum class Plant {
  none,
  send_before_persist,  // a commit returns before its writes survive a crash
  torn_commit,          // a crash during a commit leaves half of it
  lease_not_saved,      // the attempt number of a lease is not written to the disk
  no_attempt_fencing,   // a result is accepted for the current attempt, whatever its own is
  no_lease_expiry,      // a lease never expires
  no_dedupe,            // a finished job is not found by its key
  double_lease,         // a lease goes to two workers
  result_dropped,       // a result is acknowledged but not stored
  worse_row_stays,      // a board never replaces a row
  worse_row_wins,       // a board takes every new row
  revives_settled,      // a finished job with a terminal verdict is queued again
  run_row_lost,         // a label of work that is already known gets no row
  requeue_lost,         // a job that is queued again is not in the queue's index
  wakeup_lost,          // a delayed job has no timer
  dead_letter_lost,     // an abandoned job is not among the dead letters
  cancel_forgotten,     // a cancellation is not written to the disk
  pause_forgotten,      // a pause is not written to the disk
  priority_forgotten,   // every job has the priority normal
  deadline_forgotten,   // jobs run after their deadline
  quota_forgotten,      // a submitter may have any number of jobs
  removed_too_early,    // a finished job is removed after half of its retention time
  label_left,           // a removed job leaves its labels behind
  file_taken,           // a file that other jobs name is removed with a job
  object_swapped,       // a lease comes with the artifact of another job
  object_left,          // the artifact of a job is not removed with the job
};
inline constexpr std::size_t kPlantCount = 26;

// Applies the planted bug to everything that enters or leaves the broker.
class Saboteur {
 public:
  Saboteur(Plant plant, const Oracle& oracle) : plant_(plant), oracle_(oracle) {}

  bool is(Plant plant) const { return plant_ == plant; }

  // Returns the options with which the broker is started instead of the given ones.
  broker::BrokerOptions on_start(broker::BrokerOptions options) const;
  // Returns the writes that survive a crash when the broker commits the given ones.
  std::vector<store::Write> on_commit(std::span<const store::Write> writes);
  void on_crash() { unsafe_.clear(); }
  // Changes a value that the broker reads.
  void on_get(store::Family family, std::optional<std::string>& value) const;
  // Changes a packet that the broker receives.
  void on_arrival(net::Packet& packet);
  // Changes a message that the broker sends. Returns further messages to send before it.
  std::vector<std::pair<net::Peer, std::string>> on_send(const net::Peer& peer, std::string& bytes);

 private:
  const Plant plant_;
  const Oracle& oracle_;
  std::vector<store::Write> unsafe_;           // writes that the broker sees but that would be lost in a crash
  std::set<std::string> written_;              // keys that were written before
  std::string newest_file_;                    // the key of the newest blob
  std::string newest_object_;                  // the value of the newest artifact
  std::map<net::Peer, std::uint64_t> epochs_;  // the epoch of each worker's newest Hello
  std::map<Sequence, Attempt> dropped_;        // the attempts of dropped results by job
};

constexpr std::array<std::string_view, kPlantCount> enum_names(Plant) {
  return {"none",
          "send_before_persist",
          "torn_commit",
          "lease_not_saved",
          "no_attempt_fencing",
          "no_lease_expiry",
          "no_dedupe",
          "double_lease",
          "result_dropped",
          "worse_row_stays",
          "worse_row_wins",
          "revives_settled",
          "run_row_lost",
          "requeue_lost",
          "wakeup_lost",
          "dead_letter_lost",
          "cancel_forgotten",
          "pause_forgotten",
          "priority_forgotten",
          "deadline_forgotten",
          "quota_forgotten",
          "removed_too_early",
          "label_left",
          "file_taken",
          "object_swapped",
          "object_left"};
}

}  // namespace kq::sim
