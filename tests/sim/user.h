// Somebody who works with kq through the real client: submits orders, asks after them, waits for them, submits them
// again; and holds the broker to all it says.
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "producer/submit/submit.h"
#include "tests/sim/client_host.h"
#include "tests/sim/oracle.h"

namespace kq::sim {

class User {
 public:
  // `rules`: may pause, drain, retry and purge.
  User(Nature& nature, Network& network, Oracle& oracle, std::string name, std::vector<Prepared> orders, bool rules);

  void start() { host_.start(); }
  void crash() { host_.kill(); }
  // From now on nothing goes wrong: what was begun is brought to its end.
  void finish();
  // Every order is acknowledged, and every acknowledged job was seen finished.
  bool is_done() const { return host_.is_done(); }
  std::string what_is_left() const;

  const std::string& machine() const { return host_.machine(); }

 private:
  void work(Client& client);
  void do_something(Client& client);
  void submit_one(Client& client);
  void submit_again(Client& client);
  bool submit(Client& client, const Prepared& order);
  void ask(Client& client);
  void wait(Client& client, std::int64_t patience_ms);
  void read_run(Client& client);
  void cancel(Client& client);
  void rule(Client& client);
  void retry(Client& client);
  void purge(Client& client);
  void look(Client& client);
  bool lift_all(Client& client);
  std::vector<Sequence> some_jobs();
  void check(const ActionReply& reply, const std::vector<Sequence>& asked);

  Nature& nature_;
  Oracle& oracle_;
  const bool rules_;
  bool is_calm_ = false;
  std::int64_t settled_at_ms_ = 0;  // then what was said before the calm has arrived
  std::deque<Prepared> orders_;     // not yet acknowledged as a whole
  std::vector<Prepared> acknowledged_;
  std::map<Sequence, WaitedJob> jobs_;  // acknowledged
  std::set<Sequence> unfinished_;       // of jobs_, as far as this user was told
  ClientHost host_;                     // last: its program ends with it
};

}  // namespace kq::sim
