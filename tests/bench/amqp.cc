#include "tests/bench/amqp.h"

#include "tests/bench/measure.h"

namespace kq::bench {
namespace {

constexpr std::uint8_t kMethodFrame = 1;
constexpr std::uint8_t kHeaderFrame = 2;
constexpr std::uint8_t kBodyFrame = 3;
constexpr std::size_t kFrameHeadBytes = 7;
constexpr char kFrameEnd = '\xCE';
constexpr std::uint64_t kBasicClass = 60;
constexpr std::uint64_t kDeliveryModeFlag = 1u << 12;
constexpr std::uint64_t kPersistent = 2;

void append_number(std::string& out, std::uint64_t value, int byte_count) {
  for (int i = byte_count - 1; i >= 0; --i) out.push_back(static_cast<char>(value >> (8 * i)));
}

std::string_view as_payload(std::string& buffer, Amqp method, std::string_view arguments) {
  buffer.clear();
  append_number(buffer, static_cast<std::uint32_t>(method), 4);
  return buffer.append(arguments);
}

}  // namespace

AmqpArguments& AmqpArguments::number(std::uint64_t value, int byte_count) {
  append_number(text, value, byte_count);
  return *this;
}

AmqpArguments& AmqpArguments::short_text(std::string_view value) {
  append_number(text, value.size(), 1);
  text.append(value);
  return *this;
}

AmqpArguments& AmqpArguments::long_text(std::string_view value) {
  append_number(text, value.size(), 4);
  text.append(value);
  return *this;
}

std::uint64_t AmqpReader::number(int byte_count) {
  if (rest_.size() < static_cast<std::size_t>(byte_count)) give_up("an AMQP method ended early");
  std::uint64_t value = 0;
  for (int i = 0; i < byte_count; ++i)
    value = value << 8 | static_cast<std::uint8_t>(rest_[static_cast<std::size_t>(i)]);
  rest_.remove_prefix(static_cast<std::size_t>(byte_count));
  return value;
}

std::string_view AmqpReader::short_text() {
  const std::size_t n = number(1);
  if (rest_.size() < n) give_up("an AMQP method ended early");
  const std::string_view text = rest_.substr(0, n);
  rest_.remove_prefix(n);
  return text;
}

AmqpConnection::AmqpConnection(int port) : stream_(port) {
  stream_.out.assign("AMQP\0\0\x09\x01", 8);
  stream_.flush();
  if (next_method().name != Amqp::connection_start) give_up("the server does not speak AMQP 0-9-1");
  using namespace std::string_view_literals;
  AmqpArguments login;
  login.long_text("").short_text("PLAIN").long_text("\0guest\0guest"sv).short_text("en_US");
  send_method(Amqp::connection_start_ok, login);
  stream_.flush();
  const Method tune = next_method();
  if (tune.name != Amqp::connection_tune) give_up("RabbitMQ refused the user guest");
  AmqpReader limits(tune.arguments);
  limits.number(2);
  frame_bytes_max_ = limits.number(4);
  AmqpArguments tuned;
  tuned.number(1, 2).number(frame_bytes_max_, 4).number(0, 2);  // one channel, no heartbeats
  send_method(Amqp::connection_tune_ok, tuned);
  AmqpArguments host;
  host.short_text("/").short_text("").number(0, 1);
  call(Amqp::connection_open, host, Amqp::connection_open_ok);
  channel_ = 1;
  call(Amqp::channel_open, AmqpArguments().short_text(""), Amqp::channel_open_ok);
}

void AmqpConnection::send_method(Amqp method, const AmqpArguments& arguments) {
  std::string buffer;
  send_frame(kMethodFrame, channel_, as_payload(buffer, method, arguments.text));
}

void AmqpConnection::publish(std::string_view queue, std::string_view body) {
  AmqpArguments target;
  target.number(0, 2).short_text("").short_text(queue).number(0, 1);
  send_method(Amqp::basic_publish, target);
  AmqpArguments header;
  header.number(kBasicClass, 2).number(0, 2).number(body.size(), 8).number(kDeliveryModeFlag, 2).number(kPersistent, 1);
  send_frame(kHeaderFrame, channel_, header.text);
  const std::size_t piece_bytes = frame_bytes_max_ - kFrameHeadBytes - 1;
  for (; !body.empty(); body.remove_prefix(std::min(piece_bytes, body.size()))) {
    send_frame(kBodyFrame, channel_, body.substr(0, piece_bytes));
  }
}

void AmqpConnection::call(Amqp method, const AmqpArguments& arguments, Amqp answer) {
  send_method(method, arguments);
  stream_.flush();
  const Amqp got = next_method().name;
  if (got != answer) {
    give_up("RabbitMQ answered method " + std::to_string(static_cast<std::uint32_t>(method)) + " with " +
            std::to_string(static_cast<std::uint32_t>(got)));
  }
}

AmqpConnection::Method AmqpConnection::next_method() {
  const Frame frame = next_frame();
  if (frame.type != kMethodFrame)
    give_up("an AMQP method was expected, a frame of type " + std::to_string(frame.type) + " came");
  AmqpReader reader(frame.payload);
  return {static_cast<Amqp>(reader.number(4)), frame.payload.substr(4)};
}

std::string_view AmqpConnection::content() {
  AmqpReader header(next_frame().payload);
  header.number(4);
  const std::size_t byte_count = header.number(8);
  content_.clear();
  while (content_.size() < byte_count) content_.append(next_frame().payload);
  return content_;
}

bool AmqpConnection::has_frame() const {
  const std::string_view buffered = stream_.peek();
  if (buffered.size() < kFrameHeadBytes) return false;
  return buffered.size() >= kFrameHeadBytes + AmqpReader(buffered.substr(3)).number(4) + 1;
}

AmqpConnection::Frame AmqpConnection::next_frame() {
  AmqpReader head(stream_.bytes(kFrameHeadBytes));
  const auto type = static_cast<std::uint8_t>(head.number(1));
  head.number(2);
  const std::size_t payload_bytes = head.number(4);
  const std::string_view rest = stream_.bytes(payload_bytes + 1);
  if (rest.back() != kFrameEnd) give_up("an AMQP frame has no end");
  return {type, rest.substr(0, payload_bytes)};
}

void AmqpConnection::send_frame(std::uint8_t type, std::uint16_t channel, std::string_view payload) {
  append_number(stream_.out, type, 1);
  append_number(stream_.out, channel, 2);
  append_number(stream_.out, payload.size(), 4);
  stream_.out.append(payload).push_back(kFrameEnd);
}

}  // namespace kq::bench
