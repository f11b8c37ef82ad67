// The requests that the broker received. The oracle uses them to check that every change of a job was requested.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/messages.h"
#include "net/link.h"

namespace kq::sim {

// One job of a SubmitBatch, with the submitter and the run of the batch.
struct RequestedJob {
  Submission submission;
  std::string submitter;
  std::string run;
};

// The requests that the broker received in the current turn.
class TurnRequests {
 public:
  void record(const net::Packet& packet);
  void clear();  // at the end of the turn, or of the broker process

  const std::vector<RequestedJob>& submissions(const Hash& key) const;
  // Whether each submitter of the job, or an admin, asked to cancel the job.
  bool cancels(const JobRecord& job) const;
  // Whether this submitter of the job asked to cancel it.
  bool cancels_for(Sequence seq, const std::string& submitter) const;
  bool retries(Sequence seq) const { return retried_.contains(seq); }
  bool purges(Sequence seq) const { return purged_.contains(seq); }
  bool reports(const LeaseId& lease) const { return reported_.contains(lease); }

 private:
  void record_client_request(const net::Packet& packet);

  std::map<Hash, std::vector<RequestedJob>> submitted_;
  std::map<Sequence, std::vector<Identity>> cancelled_;
  std::set<Sequence> retried_;
  std::set<Sequence> purged_;
  std::set<LeaseId> reported_;
};

// The pauses and drains that administrators have switched on or off, by their keys in family meta. The state of a
// switch is certain from the acknowledgement of a request until the next request for the same switch. Between a request
// and its acknowledgement the broker may have the old state or the new one.
class Switches {
 public:
  void record(const net::Packet& packet);
  // Call it when the broker answers a request with Done.
  void acknowledge(const net::Peer& peer, std::uint64_t request_id);

  // Whether the switch is certainly on.
  bool is_on(const std::string& key) const;
  const std::map<std::string, bool>& certain() const { return certain_; }

 private:
  struct Request {
    net::Peer peer;
    std::uint64_t id = 0;
    bool on = false;
  };

  std::map<std::string, Request> open_;  // the newest request of each key that is not acknowledged
  std::map<std::string, bool> certain_;
};

}  // namespace kq::sim
