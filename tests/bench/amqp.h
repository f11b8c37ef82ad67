// The part of AMQP 0-9-1 that a load on one RabbitMQ queue needs: frames, methods and their arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/bench/stream.h"

namespace kq::bench {

// Methods of AMQP: the class number in the upper 16 bits, the number of the method in the lower 16.
enum class Amqp : std::uint32_t {
  connection_start = 10u << 16 | 10,
  connection_start_ok = 10u << 16 | 11,
  connection_tune = 10u << 16 | 30,
  connection_tune_ok = 10u << 16 | 31,
  connection_open = 10u << 16 | 40,
  connection_open_ok = 10u << 16 | 41,
  channel_open = 20u << 16 | 10,
  channel_open_ok = 20u << 16 | 11,
  queue_declare = 50u << 16 | 10,
  queue_declare_ok = 50u << 16 | 11,
  basic_qos = 60u << 16 | 10,
  basic_qos_ok = 60u << 16 | 11,
  basic_consume = 60u << 16 | 20,
  basic_consume_ok = 60u << 16 | 21,
  basic_publish = 60u << 16 | 40,
  basic_deliver = 60u << 16 | 60,
  basic_ack = 60u << 16 | 80,
  confirm_select = 85u << 16 | 10,
  confirm_select_ok = 85u << 16 | 11,
};

// Encodes the arguments of a method one after the other, big-endian.
class AmqpArguments {
 public:
  AmqpArguments& number(std::uint64_t value, int byte_count);
  AmqpArguments& short_text(std::string_view text);
  AmqpArguments& long_text(std::string_view text);
  std::string text;
};

// Decodes the arguments of a method in the order in which they were encoded. Gives up on truncated arguments.
class AmqpReader {
 public:
  explicit AmqpReader(std::string_view payload) : rest_(payload) {}
  std::uint64_t number(int byte_count);
  std::string_view short_text();

 private:
  std::string_view rest_;
};

// A logged-in connection with channel 1 open.
class AmqpConnection {
 public:
  explicit AmqpConnection(int port);

  // Appends the method to stream().out without flushing.
  void send_method(Amqp method, const AmqpArguments& arguments);
  // Appends a persistent basic.publish to the default exchange, with header and body, without flushing.
  void publish(std::string_view queue, std::string_view body);
  // Sends the method, flushes, and waits for `answer`. Gives up if another method comes.
  void call(Amqp method, const AmqpArguments& arguments, Amqp answer);

  struct Method {
    Amqp name;
    std::string_view arguments;  // valid until the next read
  };
  Method next_method();
  // Reads the header frame and body frames that follow basic.deliver, and returns the body. Valid until the next call.
  std::string_view content();
  // Returns whether a whole frame can be read without waiting.
  bool has_frame() const;
  Stream& stream() { return stream_; }

 private:
  struct Frame {
    std::uint8_t type;
    std::string_view payload;
  };
  Frame next_frame();
  void send_frame(std::uint8_t type, std::uint16_t channel, std::string_view payload);

  Stream stream_;
  std::uint16_t channel_ = 0;
  std::size_t frame_bytes_max_ = 4096;
  std::string content_;
};

}  // namespace kq::bench
