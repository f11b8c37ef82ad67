// What the broker was asked in the turn under way: nothing may happen to a job that nobody asked for.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/messages.h"
#include "net/link.h"

namespace kq::sim {

struct Wanted {
  Submission submission;
  std::string submitter;
  std::string run;
};

class Asked {
 public:
  void hear(const net::Packet& packet);
  void forget();  // the turn is over, or the process

  const std::vector<Wanted>& submissions(const Hash& key) const;
  // Somebody who may asked for it.
  bool cancels(const JobRecord& job) const;
  bool retries(Sequence seq) const { return retried_.contains(seq); }
  bool purges(Sequence seq) const { return purged_.contains(seq); }
  bool reports(const LeaseId& lease) const { return reported_.contains(lease); }

 private:
  void hear_client(const net::Packet& packet);

  std::map<Hash, std::vector<Wanted>> submitted_;
  std::map<Sequence, std::vector<Identity>> cancelled_;
  std::set<Sequence> retried_;
  std::set<Sequence> purged_;
  std::set<LeaseId> reported_;
};

// What was switched on for good by whoever may: pauses and drains. A switch is certain from its acknowledgement until
// somebody asks for it again; in between either is right.
class Switches {
 public:
  void hear(const net::Packet& packet);
  // The broker says that it is done.
  void acknowledge(const net::Peer& peer, std::uint64_t request_id);

  // By their keys in family meta: whether it is certainly on.
  bool is_on(const std::string& key) const;
  const std::map<std::string, bool>& certain() const { return certain_; }

 private:
  struct Request {
    net::Peer peer;
    std::uint64_t id = 0;
    bool on = false;
  };

  std::map<std::string, Request> open_;  // the newest of each key
  std::map<std::string, bool> certain_;
};

}  // namespace kq::sim
