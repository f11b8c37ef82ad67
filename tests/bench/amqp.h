// As much of AMQP 0-9-1 as a load on one queue needs: frames, and the arguments inside them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/bench/stream.h"

namespace kq::bench {

// Class and method numbers, packed as class << 16 | method.
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

// The arguments of a method, written one after the other, big-endian.
class AmqpArguments {
 public:
  AmqpArguments& number(std::uint64_t value, int bytes_n);
  AmqpArguments& short_text(std::string_view text);
  AmqpArguments& long_text(std::string_view text);
  std::string text;
};

// The same, read.
class AmqpReader {
 public:
  explicit AmqpReader(std::string_view payload) : rest_(payload) {}
  std::uint64_t number(int bytes_n);
  std::string_view short_text();

 private:
  std::string_view rest_;
};

// A logged-in connection with channel 1 open.
class AmqpConnection {
 public:
  explicit AmqpConnection(int port);

  void send_method(Amqp method, const AmqpArguments& arguments);  // buffered in stream().out
  // basic.publish to the default exchange, its header and its body: persistent. Buffered likewise.
  void publish(std::string_view queue, std::string_view body);
  // Flushes, and waits for that method.
  void call(Amqp method, const AmqpArguments& arguments, Amqp answer);

  struct Method {
    Amqp name;
    std::string_view arguments;  // valid until the next read
  };
  Method next_method();
  // The content that follows basic.deliver: a header frame and its body frames.
  std::string_view content();
  // Whether a whole frame can be read without waiting.
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
