// What must be true of every world, whatever fails: checked at each commit, at each message that leaves the broker,
// after each turn, after each restart and at the end. The oracle keeps its own books and never asks the broker what it
// thinks, except to compare.
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
#include "tests/sim/asked.h"
#include "tests/sim/clock.h"

namespace kq::broker {
class Broker;
}  // namespace kq::broker

namespace kq::sim {

class Oracle {
 public:
  // From the start of a broker.
  void watch(const broker::BrokerOptions& options, const Clock& clock);
  // The broker gets this in the turn that begins.
  void hearing(const net::Packet& packet);
  // The disk takes these writes now, all at once.
  void committing(std::span<const store::Write> writes, const store::Store& disk);
  // The broker sends this.
  void sending(const net::Peer& peer, std::string_view bytes, const store::Store& disk);
  // The broker knows from here on.
  void told_space(bool nearly_full) { is_disk_full_ = nearly_full; }
  void turned(const broker::Broker& broker);
  void restarted(const broker::Broker& broker, const store::Store& disk);
  // A client was told that its submission is this job. From here on that is a promise.
  void promised(const std::string& run, const Submission& submission, Sequence seq);
  // It ended long enough ago, and was removed.
  bool is_removed(Sequence seq) const { return removed_.contains(seq); }
  // A client was shown this row of a run.
  void shown(const RunRow& row);
  // All is calm and everybody had time: nothing may be left undone.
  void ended(const store::Store& disk);

  bool all_finished() const;
  std::string unfinished_text() const;
  const JobRecord* job(Sequence seq) const;
  std::size_t jobs_n() const { return jobs_.size() + removed_.size(); }
  std::size_t removed_n() const { return removed_.size(); }
  std::size_t removed_files_n() const { return removed_files_n_; }
  std::size_t objects_n() const { return objects_n_; }  // that came with leases

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
  bool is_brought_on(const JobRecord& before, const JobRecord& next) const;
  void check_begin(const JobRecord& before, const JobRecord& next);
  void check_end(const JobRecord& before, const JobRecord& next, std::span<const store::Write> later,
                 const store::Store& disk);
  void check_revival(const JobRecord& next, const JobRecord& before);
  void check_wanted(const JobRecord& record, bool is_revived);
  void enter_board(const JobRecord& record, const Result& result, const store::Store& disk);
  void check_board_write(const std::string& key, const LeaderboardRow& row);
  void check_reply(const ClientReply& reply, const store::Store& disk);
  void check_said(Sequence seq, JobState state, const char* where);
  void check_lease(const net::Peer& peer, const Lease& lease, const store::Store& disk);
  void check_build(const net::Peer& peer, const Lease& build);
  void check_rank(const Hello& hello, const JobRecord& leased, const store::Store& disk);
  void check_board(const store::Store& disk);
  void check_indexes(const store::Store& disk);
  void compare(const broker::Broker& broker);

  std::optional<std::string> violation_;
  broker::BrokerOptions options_{};
  const Clock* clock_ = nullptr;  // the broker's

  // As on disk.
  std::map<Sequence, JobRecord> jobs_;
  std::map<Sequence, VerdictName> verdicts_;
  std::map<Hash, Sequence> keys_;
  std::set<Sequence> removed_;  // by retention
  std::size_t removed_files_n_ = 0;
  std::size_t objects_n_ = 0;
  Sequence newest_ = 0;
  std::set<Sequence> dead_;                     // letters
  std::map<std::string, LeaderboardRow> best_;  // folded from the results in the order of their commits

  // Heard and said.
  bool is_disk_full_ = false;
  std::map<Hash, Sequence> promises_;
  std::map<std::string, RunEntry> entries_;  // by key: the newest submission of each label that was acknowledged
  std::map<std::string, Sequence> named_;    // by key: the job that each label was last given to
  std::map<net::Peer, Hello> workers_;       // as each address said last
  std::set<LeaseId> granted_;
  std::set<Sequence> begun_;  // that had an attempt since they were submitted or brought back
  Switches switches_;

  // Of the turn under way.
  Asked asked_;
  std::map<Sequence, std::vector<JobRecord>> turn_;  // what each job was in it
  std::uint64_t turns_n_ = 0;
};

}  // namespace kq::sim
