// The peer rabbitmq: a durable quorum queue with publisher confirms.
#include <algorithm>
#include <set>

#include "tests/bench/amqp.h"
#include "tests/bench/measure.h"
#include "tests/bench/peer.h"

namespace kq::bench {
namespace {

constexpr std::string_view kQueue = "jobs";
constexpr std::size_t kPrefetchMax = 2000;

void declare_queue(AmqpConnection& connection) {
  // The table has one entry: a name, the type S and a text.
  AmqpArguments table;
  table.short_text("x-queue-type").number('S', 1).long_text("quorum");
  AmqpArguments queue;
  queue.number(0, 2).short_text(kQueue).number(0b10, 1).long_text(table.text);  // durable
  connection.call(Amqp::queue_declare, queue, Amqp::queue_declare_ok);
}

class RabbitProducer final : public Producer {
 public:
  explicit RabbitProducer(int port) : connection_(port) {
    connection_.call(Amqp::confirm_select, AmqpArguments().number(0, 1), Amqp::confirm_select_ok);
  }

  void put(std::string body) override {
    connection_.publish(kQueue, body);
    unconfirmed_.insert(++last_tag_);
  }
  void flush() override { connection_.stream().flush(); }
  std::size_t wait_acks() override {
    const AmqpConnection::Method method = connection_.next_method();
    if (method.name != Amqp::basic_ack) give_up("RabbitMQ did not confirm a message");
    AmqpReader arguments(method.arguments);
    const std::uint64_t tag = arguments.number(8);
    const bool all_before = arguments.number(1) != 0;
    if (!all_before) return unconfirmed_.erase(tag);
    const auto end = unconfirmed_.upper_bound(tag);
    const auto confirmed = static_cast<std::size_t>(std::distance(unconfirmed_.begin(), end));
    unconfirmed_.erase(unconfirmed_.begin(), end);
    return confirmed;
  }

 private:
  AmqpConnection connection_;
  std::set<std::uint64_t> unconfirmed_;
  std::uint64_t last_tag_ = 0;
};

class RabbitConsumer final : public Consumer {
 public:
  RabbitConsumer(int port, std::size_t at_once) : connection_(port), at_once_(at_once) {
    const std::size_t prefetch = std::min(kPrefetchMax, 2 * at_once);
    connection_.call(Amqp::basic_qos, AmqpArguments().number(0, 4).number(prefetch, 2).number(0, 1),
                     Amqp::basic_qos_ok);
    AmqpArguments queue;
    queue.number(0, 2).short_text(kQueue).short_text("").number(0, 1).long_text("");
    connection_.call(Amqp::basic_consume, queue, Amqp::basic_consume_ok);
  }

  // AMQP does not answer an acknowledgement, so a job counts as finished when its acknowledgement is sent.
  void round(Tally& tally) override {
    if (held_count_ > 0) {
      connection_.send_method(Amqp::basic_ack, AmqpArguments().number(last_tag_, 8).number(1, 1));
      connection_.stream().flush();
      tally.finished(held_count_);
      held_count_ = 0;
    }
    if (!connection_.stream().readable(kRoundWaitMs)) return;
    do {
      const AmqpConnection::Method method = connection_.next_method();
      if (method.name != Amqp::basic_deliver) give_up("RabbitMQ sent something other than a job to a consumer");
      AmqpReader arguments(method.arguments);
      arguments.short_text();
      last_tag_ = arguments.number(8);
      tally.took(connection_.content());
      ++held_count_;
    } while (held_count_ < at_once_ && connection_.has_frame());
  }

 private:
  AmqpConnection connection_;
  const std::size_t at_once_;
  std::uint64_t last_tag_ = 0;
  std::size_t held_count_ = 0;
};

class Rabbitmq final : public Peer {
 public:
  explicit Rabbitmq(int port) : port_(port) {
    AmqpConnection connection(port);
    declare_queue(connection);
  }

  std::unique_ptr<Producer> producer(std::size_t) override { return std::make_unique<RabbitProducer>(port_); }
  std::unique_ptr<Consumer> consumer(std::size_t, std::size_t at_once) override {
    return std::make_unique<RabbitConsumer>(port_, at_once);
  }

 private:
  const int port_;
};

}  // namespace

std::unique_ptr<Peer> make_rabbitmq(const Address& address) {
  return std::make_unique<Rabbitmq>(address.port);
}

}  // namespace kq::bench
