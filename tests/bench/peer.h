// The interface of the load programs to a queue: kq, or a queue that kq is compared with. Each peer has a file and a
// row in peer.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace kq::bench {

// One connection that puts jobs. Only one thread uses a producer.
class Producer {
 public:
  virtual ~Producer() = default;
  virtual void put(std::string body) = 0;  // buffers the job until flush()
  virtual void flush() = 0;                // sends the buffered jobs, as one message if the protocol allows it
  // Waits for acknowledgements and returns their number. Jobs are acknowledged in the order in which they were put.
  // Peers differ in what an acknowledgement guarantees (servers.py).
  virtual std::size_t wait_acks() = 0;
};

// Counts the jobs that a consumer takes and finishes.
class Tally {
 public:
  virtual ~Tally() = default;
  virtual void took(std::string_view body) = 0;
  // The peer has acknowledged the removal or the results of `n` jobs.
  virtual void finished(std::size_t n) = 0;
};

// One connection that takes and finishes jobs. Only one thread uses a consumer.
class Consumer {
 public:
  virtual ~Consumer() = default;
  // Finishes the jobs of the last round and takes more. Waits at most kRoundWaitMs for the first job.
  virtual void round(Tally& tally) = 0;
};
inline constexpr int kRoundWaitMs = 200;

// Makes connections to one queue.
class Peer {
 public:
  virtual ~Peer() = default;
  // `number` differs between the connections of one run.
  virtual std::unique_ptr<Producer> producer(std::size_t number) = 0;
  // Takes at most `at_once` jobs in a round.
  virtual std::unique_ptr<Consumer> consumer(std::size_t number, std::size_t at_once) = 0;
};

// A server on 127.0.0.1.
struct Address {
  int port = 0;
  std::string keys{};  // kq only: the folder that issue_keys() wrote (kq_jobs.h); empty: no keys
};

std::unique_ptr<Peer> make_beanstalkd(const Address& address);
std::unique_ptr<Peer> make_redis(const Address& address);
std::unique_ptr<Peer> make_rabbitmq(const Address& address);
std::unique_ptr<Peer> make_kq(const Address& address);

// Returns the peer with this name. Gives up on an unknown name and prints the known names.
std::unique_ptr<Peer> make_peer(std::string_view name, const Address& address);

}  // namespace kq::bench
