// A producer as the protocol knows it: it sends each batch again until it is acknowledged, then asks after its jobs.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/messages.h"
#include "tests/sim/network.h"
#include "tests/sim/oracle.h"

namespace kq::sim {

class ModelClient {
 public:
  ModelClient(Timeline& timeline, Random& random, Network& network, Oracle& oracle, std::string name);

  void submit(SubmitBatch batch);
  // A batch that was acknowledged earlier, once more: it must come to the same jobs.
  void submit_again();
  bool is_done() const { return waiting_.empty(); }

 private:
  void receive(const std::string& bytes);
  void take(const SubmitAck& ack);
  void take(const StatusReply& reply, const std::set<Sequence>& asked);
  void send_first();
  void ask();
  void tick();

  Timeline& timeline_;
  Random& random_;
  Network& network_;
  Oracle& oracle_;
  const Peer peer_;

  std::deque<SubmitBatch> waiting_;  // the first one is under way
  std::uint64_t request_id_ = 0;     // of the first one
  std::uint64_t requests_n_ = 0;
  std::int64_t sent_at_ms_ = 0;
  std::deque<SubmitBatch> acknowledged_;
  std::set<Sequence> jobs_;
  std::map<std::uint64_t, std::set<Sequence>> asked_;  // by request
};

}  // namespace kq::sim
