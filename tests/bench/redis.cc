// The peer redis: a stream with one consumer group, by the commands XADD, XREADGROUP, XACK and XDEL.
#include <charconv>
#include <vector>

#include "tests/bench/measure.h"
#include "tests/bench/peer.h"
#include "tests/bench/stream.h"

namespace kq::bench {
namespace {

constexpr std::string_view kStream = "jobs";
constexpr std::string_view kGroup = "workers";

void start_command(std::string& out, std::size_t word_count) {
  out.append("*").append(std::to_string(word_count)).append("\r\n");
}

void add_word(std::string& out, std::string_view word) {
  out.append("$").append(std::to_string(word.size())).append("\r\n").append(word).append("\r\n");
}

// Returns the number after the type character of an answer. Gives up if the type is another one.
long number_after(char type, std::string_view line) {
  long number = 0;
  if (line.empty() || line[0] != type) give_up("redis answered: " + std::string(line));
  std::from_chars(line.data() + 1, line.data() + line.size(), number);
  return number;
}

class RedisProducer final : public Producer {
 public:
  explicit RedisProducer(int port) : stream_(port) {}

  void put(std::string body) override {
    start_command(stream_.out, 5);
    for (const std::string_view word :
         {std::string_view("XADD"), kStream, std::string_view("*"), std::string_view("body")}) {
      add_word(stream_.out, word);
    }
    add_word(stream_.out, body);
  }
  void flush() override { stream_.flush(); }
  std::size_t wait_acks() override {
    const long id_bytes = number_after('$', stream_.line());
    stream_.bytes(static_cast<std::size_t>(id_bytes) + 2);
    return 1;
  }

 private:
  Stream stream_;
};

class RedisConsumer final : public Consumer {
 public:
  RedisConsumer(int port, std::size_t number, std::size_t at_once)
      : stream_(port), name_("consumer" + std::to_string(number)), at_once_(std::to_string(at_once)) {}

  void round(Tally& tally) override {
    if (!held_.empty()) ask_to_finish();
    ask_for_more();
    stream_.flush();
    if (!held_.empty()) {
      for (int answer = 0; answer < 2; ++answer) {
        if (number_after(':', stream_.line()) != static_cast<long>(held_.size()))
          give_up("redis did not find jobs that it had delivered");
      }
      tally.finished(held_.size());
      held_.clear();
    }
    read_jobs(tally);
  }

 private:
  void ask_to_finish() {
    start_command(stream_.out, 3 + held_.size());
    for (const std::string_view word : {std::string_view("XACK"), kStream, kGroup}) add_word(stream_.out, word);
    for (const std::string& id : held_) add_word(stream_.out, id);
    start_command(stream_.out, 2 + held_.size());
    for (const std::string_view word : {std::string_view("XDEL"), kStream}) add_word(stream_.out, word);
    for (const std::string& id : held_) add_word(stream_.out, id);
  }

  void ask_for_more() {
    static const std::string kWait = std::to_string(kRoundWaitMs);
    start_command(stream_.out, 11);
    for (const std::string_view word :
         {std::string_view("XREADGROUP"), std::string_view("GROUP"), kGroup, std::string_view(name_),
          std::string_view("COUNT"), std::string_view(at_once_), std::string_view("BLOCK"), std::string_view(kWait),
          std::string_view("STREAMS"), kStream, std::string_view(">")}) {
      add_word(stream_.out, word);
    }
  }

  // The answer is [[stream, [[id, [field, body]], ...]]], or a null array when there are no jobs.
  void read_jobs(Tally& tally) {
    if (number_after('*', stream_.line()) < 0) return;
    number_after('*', stream_.line());
    bulk();
    const long job_count = number_after('*', stream_.line());
    for (long i = 0; i < job_count; ++i) {
      number_after('*', stream_.line());
      held_.emplace_back(bulk());
      number_after('*', stream_.line());
      bulk();
      tally.took(bulk());
    }
  }

  std::string_view bulk() {
    const auto n = static_cast<std::size_t>(number_after('$', stream_.line()));
    return stream_.bytes(n + 2).substr(0, n);
  }

  Stream stream_;
  const std::string name_;
  const std::string at_once_;
  std::vector<std::string> held_;
};

class Redis final : public Peer {
 public:
  explicit Redis(int port) : port_(port) {
    Stream stream(port);
    stream.out = "XGROUP CREATE " + std::string(kStream) + " " + std::string(kGroup) + " 0 MKSTREAM\r\n";
    stream.flush();
    const std::string answer(stream.line());
    if (answer != "+OK" && !answer.starts_with("-BUSYGROUP")) give_up("redis answered XGROUP with: " + answer);
  }

  std::unique_ptr<Producer> producer(std::size_t) override { return std::make_unique<RedisProducer>(port_); }
  std::unique_ptr<Consumer> consumer(std::size_t number, std::size_t at_once) override {
    return std::make_unique<RedisConsumer>(port_, number, at_once);
  }

 private:
  const int port_;
};

}  // namespace

std::unique_ptr<Peer> make_redis(const Address& address) {
  return std::make_unique<Redis>(address.port);
}

}  // namespace kq::bench
