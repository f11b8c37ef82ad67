// Checks what must be true in every world, whatever fails.
//
// The oracle checks each commit (oracle_commits.cc), each message that leaves the broker (oracle_messages.cc), and the
// state of broker and disk after each turn, after each restart and at the end (oracle.cc). It keeps its own copy of
// every job, computed from commits and messages alone. It reads the broker's state only to compare it with that copy. A
// turn is one pass of the broker's loop: the broker receives packets, commits, and sends.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "broker/core/options.h"
#include "core/messages.h"
#include "net/link.h"
#include "store/store.h"
#include "tests/sim/clock.h"
#include "tests/sim/turn_requests.h"

namespace kq::broker {
class Broker;
}  // namespace kq::broker

namespace kq::sim {

// Holds the expected state of the broker, and the first violation that was found.
class Oracle {
 public:
  // Sets the options of the broker and its clock. Call it once, before the broker starts.
  void watch(const broker::BrokerOptions& options, const Clock& clock);
  // Call it for each packet that the broker receives, before the broker handles the packet.
  void hearing(const net::Packet& packet);
  // Call it before the disk applies the writes of a commit; `disk` is the state before them.
  void committing(std::span<const store::Write> writes, const store::Store& disk);
  // Call it for each message that the broker sends.
  void sending(const net::Peer& peer, std::string_view bytes, const store::Store& disk);
  // Call it when the broker asks for the free space of its disk.
  void told_space(bool nearly_full) { is_disk_full_ = nearly_full; }
  // Call it after each turn of the broker.
  void turned(const broker::Broker& broker);
  // Call it after each start of a broker process.
  void restarted(const broker::Broker& broker, const store::Store& disk);
  // Call it when a client has received the acknowledgement of a submission. From then on the job must not be lost.
  void promised(const std::string& run, const Submission& submission, Sequence seq);
  // Whether retention has removed the job.
  bool is_removed(Sequence seq) const { return removed_.contains(seq); }
  // Call it for each row of a run that a client receives.
  void shown(const RunRow& row);
  // Call it at the end of the world, when every job is finished.
  void ended(const store::Store& disk);

  bool all_finished() const;
  std::string unfinished_text() const;
  const JobRecord* job(Sequence seq) const;
  std::size_t job_count() const { return jobs_.size() + removed_.size(); }
  std::size_t removed_count() const { return removed_.size(); }
  std::size_t removed_file_count() const { return removed_file_count_; }
  std::size_t object_count() const { return object_count_; }  // artifacts that came with leases

  // Records a violation; only the first one is kept.
  void violated(std::string what);
  const std::optional<std::string>& violation() const { return violation_; }

 private:
  void check_removals(std::span<const store::Write> writes, const store::Store& disk);
  void check_removed_job(const JobRecord& job, const store::Store& disk);
  void check_removed_key(const store::Write& write, const std::set<Sequence>& gone, const store::Store& disk);
  void check_removed_file(const Hash& hash, std::span<const store::Write> writes, const store::Store& disk);
  void check_job(const JobRecord& next, std::span<const store::Write> later, const store::Store& disk);
  void check_change(const JobRecord& before, const JobRecord& next, std::span<const store::Write> later,
                    const store::Store& disk);
  bool is_merged(const JobRecord& before, const JobRecord& next) const;
  bool has_merged_submitters(const JobRecord& before, const JobRecord& next) const;
  void check_begin(const JobRecord& before, const JobRecord& next);
  void check_end(const JobRecord& before, const JobRecord& next, std::span<const store::Write> later,
                 const store::Store& disk);
  void check_revival(const JobRecord& next, const JobRecord& before);
  void check_requested(const JobRecord& record, bool is_revived);
  void enter_board(const JobRecord& record, const Result& result, const store::Store& disk);
  void check_kernel_write(const std::string& key, const LeaderboardRow& row);
  void check_reply(const ClientReply& reply, const store::Store& disk);
  void check_reported_state(Sequence seq, JobState state, const char* where);
  void check_lease(const net::Peer& peer, const Lease& lease, const store::Store& disk);
  void check_build(const net::Peer& peer, const Lease& build);
  void check_rank(const Hello& hello, const JobRecord& leased, const store::Store& disk);
  void check_board(const store::Store& disk);
  void check_indexes(const store::Store& disk);
  void compare(const broker::Broker& broker);

  std::optional<std::string> violation_;
  broker::BrokerOptions options_{};
  const Clock* clock_ = nullptr;  // the broker's clock

  // The state on disk.
  std::map<Sequence, JobRecord> jobs_;
  std::map<Sequence, VerdictName> verdicts_;
  std::map<Hash, Sequence> keys_;
  std::set<Sequence> removed_;  // jobs that retention removed
  std::size_t removed_file_count_ = 0;
  std::size_t object_count_ = 0;
  Sequence newest_ = 0;
  std::set<Sequence> dead_;                        // jobs that are dead letters
  std::map<std::string, LeaderboardRow> kernels_;  // the expected rows of kernels by key

  // What clients, workers and the broker have told each other.
  bool is_disk_full_ = false;
  std::map<Hash, Sequence> promises_;
  std::map<std::string, RunEntry> entries_;  // by run key: the newest acknowledged submission of each label
  std::map<std::string, Sequence> named_;    // by run key: the job that each label names on disk
  std::map<net::Peer, Hello> workers_;       // the newest Hello from each address
  std::set<LeaseId> granted_;
  std::set<Sequence> begun_;  // jobs with an attempt since they were submitted or queued again
  Switches switches_;

  // The current turn.
  TurnRequests requests_;
  std::map<Sequence, std::vector<JobRecord>> turn_;  // the records of each changed job, oldest first
  std::uint64_t turn_count_ = 0;
};

}  // namespace kq::sim
