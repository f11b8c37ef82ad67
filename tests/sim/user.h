// A simulated user: a program that submits orders through the real client, queries them, waits for them, cancels some
// and submits some again. An order is a list of jobs that one call of kq-submit submits. The user tells the oracle what
// the broker has acknowledged and shown.
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

// One user with its client machine.
class User {
 public:
  // `is_admin` says whether the user may pause, drain, retry and purge.
  User(Context& context, Network& network, Oracle& oracle, std::string name, std::vector<producer::Prepared> orders,
       bool is_admin);

  void start() { host_.start(); }
  void crash() { host_.kill(); }
  // Call it when the faults have stopped. The user then undoes pauses and drains, submits its remaining orders and
  // waits for its jobs.
  void finish();
  // Whether every order is acknowledged and this user knows that every acknowledged job is finished.
  bool is_done() const { return host_.is_done(); }
  std::string unfinished_text() const;

  const std::string& machine() const { return host_.machine(); }

 private:
  void work(producer::Client& client);
  void do_something(producer::Client& client);
  void submit_one(producer::Client& client);
  void submit_again(producer::Client& client);
  bool submit(producer::Client& client, const producer::Prepared& order);
  void query_status(producer::Client& client);
  void wait(producer::Client& client, std::int64_t patience_ms);
  void read_run(producer::Client& client);
  void cancel(producer::Client& client);
  void administer(producer::Client& client);
  void retry(producer::Client& client);
  void purge(producer::Client& client);
  void query(producer::Client& client);
  bool undo_pauses_and_drains(producer::Client& client);
  std::vector<Sequence> some_jobs();
  void check(const ActionReply& reply, const std::vector<Sequence>& asked);

  Context& context_;
  Oracle& oracle_;
  const bool is_admin_;
  bool is_calm_ = false;
  std::int64_t settled_at_ms_ = 0;         // by then all messages from before finish() have arrived
  std::deque<producer::Prepared> orders_;  // orders with a job that is not acknowledged
  std::vector<producer::Prepared> acknowledged_;
  std::map<Sequence, producer::WaitedJob> jobs_;  // the acknowledged jobs
  std::set<Sequence> unfinished_;                 // the jobs of jobs_ that this user does not know to be finished
  ClientHost host_;                               // the last member, because its program uses the others
};

}  // namespace kq::sim
