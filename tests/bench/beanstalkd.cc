// The peer beanstalkd: the default tube, by the commands put, reserve-with-timeout and delete.
#include <charconv>
#include <vector>

#include "tests/bench/measure.h"
#include "tests/bench/peer.h"
#include "tests/bench/stream.h"

namespace kq::bench {
namespace {

constexpr int kReserveWaitS = 1;

[[noreturn]] void refuse(std::string_view what, std::string_view line) {
  give_up("beanstalkd answered " + std::string(what) + " with: " + std::string(line));
}

class BeanstalkdProducer final : public Producer {
 public:
  explicit BeanstalkdProducer(int port) : stream_(port) {}

  void put(std::string body) override {
    stream_.out.append("put 1024 0 600 ")
        .append(std::to_string(body.size()))
        .append("\r\n")
        .append(body)
        .append("\r\n");
  }
  void flush() override { stream_.flush(); }
  std::size_t wait_acks() override {
    const std::string_view line = stream_.line();
    if (!line.starts_with("INSERTED")) refuse("put", line);
    return 1;
  }

 private:
  Stream stream_;
};

class BeanstalkdConsumer final : public Consumer {
 public:
  BeanstalkdConsumer(int port, std::size_t at_once) : stream_(port), at_once_(at_once) {}

  void round(Tally& tally) override {
    for (const std::string& id : held_) stream_.out.append("delete ").append(id).append("\r\n");
    // Only the first request may wait, and only without jobs to delete, because a waiting request delays later answers.
    const int wait_s = held_.empty() ? kReserveWaitS : 0;
    for (std::size_t i = 0; i < at_once_; ++i) {
      stream_.out.append("reserve-with-timeout ").append(std::to_string(i == 0 ? wait_s : 0)).append("\r\n");
    }
    stream_.flush();
    for (std::size_t i = 0; i < held_.size(); ++i) {
      if (const std::string_view line = stream_.line(); line != "DELETED") refuse("delete", line);
    }
    tally.finished(held_.size());
    held_.clear();
    for (std::size_t i = 0; i < at_once_; ++i) reserved(tally);
  }

 private:
  // Reads one answer to a reserve request: RESERVED <id> <bytes>, then the body; or TIMED_OUT.
  void reserved(Tally& tally) {
    const std::string_view line = stream_.line();
    if (line == "TIMED_OUT") return;
    if (!line.starts_with("RESERVED ")) refuse("reserve", line);
    const std::size_t space = line.find(' ', 9);
    held_.emplace_back(line.substr(9, space - 9));
    std::size_t byte_count = 0;
    std::from_chars(line.data() + space + 1, line.data() + line.size(), byte_count);
    tally.took(stream_.bytes(byte_count + 2).substr(0, byte_count));
  }

  Stream stream_;
  const std::size_t at_once_;
  std::vector<std::string> held_;
};

class Beanstalkd final : public Peer {
 public:
  explicit Beanstalkd(int port) : port_(port) {}

  std::unique_ptr<Producer> producer(std::size_t) override { return std::make_unique<BeanstalkdProducer>(port_); }
  std::unique_ptr<Consumer> consumer(std::size_t, std::size_t at_once) override {
    return std::make_unique<BeanstalkdConsumer>(port_, at_once);
  }

 private:
  const int port_;
};

}  // namespace

std::unique_ptr<Peer> make_beanstalkd(const Address& address) {
  return std::make_unique<Beanstalkd>(address.port);
}

}  // namespace kq::bench
