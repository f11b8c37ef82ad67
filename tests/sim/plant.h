// Bugs planted on purpose, to prove that the world would notice them. All are outside the broker: what it writes,
// reads, hears or says is changed in the way the bug would look like.
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
  send_before_persist,  // a commit returns before its writes are safe
  torn_commit,          // a crash during a commit leaves half of it
  lease_not_saved,      // the attempt number of a lease stays in RAM
  no_attempt_fencing,   // a result is taken for whatever attempt is current
  no_lease_expiry,      // a lease never ends by itself
  no_dedupe,            // a finished job is not found by its key
  double_lease,         // a lease goes to two workers
  result_dropped,       // a result is acknowledged and forgotten
  worse_row_stays,      // the board keeps the row it has
  worse_row_wins,       // the board takes every row
  revives_settled,      // a job that was answered is queued again
  run_row_lost,         // a label of work that is known already gets no row
  requeue_lost,         // a job that is queued again is not in the queue's index
  wakeup_lost,          // a job that waits for its time has no timer
  dead_letter_lost,     // an abandoned job is not among the dead letters
  cancel_forgotten,     // a cancelled job is cancelled in RAM alone
  pause_forgotten,      // a pause is not saved
  priority_forgotten,   // every job is a normal one
  deadline_forgotten,   // jobs run after their deadline
  quota_forgotten,      // a submitter may have any number of jobs
  removed_too_early,    // a finished job goes after half the time it is to be kept
  label_left,           // a removed job leaves its labels behind
  file_taken,           // a removed job takes a file along that others name
  object_swapped,       // a lease brings what was built of another job
  object_left,          // what was built of a job outlives it
};
inline constexpr std::size_t kPlantsN = 26;

// Sits on the ways in and out of the broker.
class Saboteur {
 public:
  Saboteur(Plant plant, const Oracle& oracle) : plant_(plant), oracle_(oracle) {}

  bool is(Plant plant) const { return plant_ == plant; }

  // The options with which the broker runs instead of these.
  broker::BrokerOptions on_start(broker::BrokerOptions options) const;
  // What becomes safe when the broker commits these.
  std::vector<store::Write> on_commit(std::span<const store::Write> writes);
  void on_crash() { unsafe_.clear(); }
  // What the broker reads there.
  void on_get(store::Family family, std::optional<std::string>& value) const;
  // What the broker hears.
  void on_arrival(net::Packet& packet);
  // What the broker says, and what it says beside it.
  std::vector<std::pair<net::Peer, std::string>> on_send(const net::Peer& peer, std::string& bytes);

 private:
  const Plant plant_;
  const Oracle& oracle_;
  std::vector<store::Write> unsafe_;           // seen and not yet safe
  std::set<std::string> written_;              // keys
  std::string newest_file_;                    // key
  std::string newest_object_;                  // value
  std::map<net::Peer, std::uint64_t> epochs_;  // of the workers' last Hellos
  std::map<Sequence, Attempt> dropped_;        // results that the broker never got
};

constexpr std::array<std::string_view, kPlantsN> enum_names(Plant) {
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
