// The port to a queue under load: kq, or one of those it is compared with. One file per peer, one row in peer.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace kq::bench {

// One connection that puts jobs. Only its own thread uses it.
class Producer {
 public:
  virtual ~Producer() = default;
  virtual void put(std::string body) = 0;  // kept until flush()
  virtual void flush() = 0;                // sends what was put, as one message where the protocol has such
  // Waits for acknowledgements; returns how many came, oldest first. What the peer promises by one is its own matter.
  virtual std::size_t wait_acks() = 0;
};

// What a consumer tells, as it happens.
class Tally {
 public:
  virtual ~Tally() = default;
  virtual void took(std::string_view body) = 0;
  virtual void finished(std::size_t n) = 0;  // the peer has acknowledged their removal, or holds their results
};

// One connection that takes jobs and finishes them. Only its own thread uses it.
class Consumer {
 public:
  virtual ~Consumer() = default;
  // Finishes what the last round took and takes more. Waits at most kRoundWaitMs for a first job.
  virtual void round(Tally& tally) = 0;
};
inline constexpr int kRoundWaitMs = 200;

class Peer {
 public:
  virtual ~Peer() = default;
  // `number` tells connections of one run apart.
  virtual std::unique_ptr<Producer> producer(std::size_t number) = 0;
  // Takes at most `at_once` jobs in a round.
  virtual std::unique_ptr<Consumer> consumer(std::size_t number, std::size_t at_once) = 0;
};

// A server on 127.0.0.1.
struct Address {
  int port = 0;
  std::string keys{};  // of kq with CURVE: what issue_keys() wrote (kq_jobs.h); empty: no keys
};

std::unique_ptr<Peer> make_beanstalkd(const Address& address);
std::unique_ptr<Peer> make_redis(const Address& address);
std::unique_ptr<Peer> make_rabbitmq(const Address& address);
std::unique_ptr<Peer> make_kq(const Address& address);

// By name; gives up on an unknown one, naming the known.
std::unique_ptr<Peer> make_peer(std::string_view name, const Address& address);

}  // namespace kq::bench
