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
  User(Nature& nature, Network& network, Oracle& oracle, std::string name, std::vector<producer::Prepared> orders,
       bool rules);

  void start() { host_.start(); }
  void crash() { host_.kill(); }
  // From now on nothing goes wrong: what was begun is brought to its end.
  void finish();
  // Every order is acknowledged, and every acknowledged job was seen finished.
  bool is_done() const { return host_.is_done(); }
  std::string what_is_left() const;

  const std::string& machine() const { return host_.machine(); }

 private:
  void work(producer::Client& client);
  void do_something(producer::Client& client);
  void submit_one(producer::Client& client);
  void submit_again(producer::Client& client);
  bool submit(producer::Client& client, const producer::Prepared& order);
  void ask(producer::Client& client);
  void wait(producer::Client& client, std::int64_t patience_ms);
  void read_run(producer::Client& client);
  void cancel(producer::Client& client);
  void rule(producer::Client& client);
  void retry(producer::Client& client);
  void purge(producer::Client& client);
  void look(producer::Client& client);
  bool lift_all(producer::Client& client);
  std::vector<Sequence> some_jobs();
  void check(const ActionReply& reply, const std::vector<Sequence>& asked);

  Nature& nature_;
  Oracle& oracle_;
  const bool rules_;
  bool is_calm_ = false;
  std::int64_t settled_at_ms_ = 0;         // then what was said before the calm has arrived
  std::deque<producer::Prepared> orders_;  // not yet acknowledged as a whole
  std::vector<producer::Prepared> acknowledged_;
  std::map<Sequence, producer::WaitedJob> jobs_;  // acknowledged
  std::set<Sequence> unfinished_;                 // of jobs_, as far as this user was told
  ClientHost host_;                               // last: its program ends with it
};

}  // namespace kq::sim
