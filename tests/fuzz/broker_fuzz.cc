// Peers that say anything in any order: the broker answers, stays whole, keeps what it promised, and comes back from
// its store.
//
// The input is a list of events: one byte says who and what, two the length, then the bytes of a message. What cannot
// be decoded is passed over, as the loop refuses it.
#include <optional>

#include "broker/broker.h"
#include "broker/invariants.h"
#include "core/base/check.h"
#include "core/codec/codec.h"
#include "store/memory_store.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

namespace {

constexpr std::size_t kEventsMax = 64;
constexpr std::int64_t kStartMs = 1'700'000'000'000;

enum class Kind { client, worker, undelivered, time, restart };
constexpr std::size_t kKinds = 5;

// Small enough that an input can reach the limits.
broker::BrokerOptions options() {
  broker::BrokerOptions options;
  options.unfinished_jobs_max = 8;
  options.sessions_max = 4;
  options.leases_per_step_max = 4;
  return options;
}

class House {
 public:
  House() : broker_(*broker::Broker::recover(store_, options(), now_ms_)) {}

  void event(Kind kind, std::uint8_t who, std::string_view bytes) {
    const std::string peer(1, static_cast<char>('a' + who % 3));
    if (kind == Kind::time) now_ms_ += bytes.empty() ? 1 : static_cast<unsigned char>(bytes.front()) * 1000;
    if (kind == Kind::restart) broker_ = *broker::Broker::recover(store_, options(), now_ms_);
    broker::Ready turn;
    step(broker::Tick{}, turn);
    switch (kind) {
      case Kind::client:
        if (auto message = decode_message<ClientRequest>(bytes))
          step(broker::FromClient{peer, std::move(*message)}, turn);
        break;
      case Kind::worker:
        if (auto message = decode_message<WorkerRequest>(bytes))
          step(broker::FromWorker{peer, std::move(*message)}, turn);
        break;
      case Kind::undelivered:
        step(broker::Undelivered{.peer = peer, .leases = {{.seq = who, .attempt = 1}}}, turn);
        break;
      case Kind::time:
        break;
      case Kind::restart:
        break;
    }
    step(broker::Dispatch{}, turn);
    finish(std::move(turn));
  }

 private:
  void step(broker::Event event, broker::Ready& turn) {
    auto ready = broker_.step(std::move(event), now_ms_);
    KQ_CHECK(ready.has_value());  // the store is whole: there is nothing to fail at
    if (const auto broken = broker::broken_invariant(broker_.state())) {
      std::fprintf(stderr, "broken: %s\n", broken->c_str());
      std::abort();
    }
    turn.merge(std::move(*ready));
  }

  void finish(broker::Ready turn) {
    const auto sends = broker::commit(std::move(turn), store_);
    KQ_CHECK(sends.has_value());
    for (const broker::Send& send : *sends) check(send);
  }

  // Whatever goes out can be read at the other end.
  static void check(const broker::Send& send) {
    if (const auto* to_client = std::get_if<broker::ToClient>(&send)) {
      KQ_CHECK(decode_message<ClientReply>(encode_message(to_client->message)));
    } else {
      KQ_CHECK(decode_message<WorkerReply>(encode_message(std::get<broker::ToWorker>(send).message)));
    }
  }

  store::MemoryStore store_;
  std::int64_t now_ms_ = kStartMs;
  broker::Broker broker_;
};

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  House house;
  std::string_view rest = fuzz::text_of(data, size);
  for (std::size_t n = 0; !rest.empty() && n < kEventsMax; ++n) {
    const std::uint8_t head = fuzz::take_byte(rest);
    const std::size_t length =
        static_cast<std::size_t>(fuzz::take_byte(rest)) | static_cast<std::size_t>(fuzz::take_byte(rest)) << 8;
    house.event(static_cast<Kind>(head % kKinds), static_cast<std::uint8_t>(head / kKinds), fuzz::take(rest, length));
  }
  house.event(Kind::restart, 0, {});
  return 0;
}
