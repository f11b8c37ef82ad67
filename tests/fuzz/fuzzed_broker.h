// A broker that runs the events of an input of broker_fuzz.cc. After each event its invariants must hold, every message
// that it sends must be decodable, and it must recover from its store.
//
// The input is a list of events. The first byte of an event selects its kind and peer, the next two are the length of
// the message, and the message follows. A message that cannot be decoded is skipped, because the broker's loop
// refuses such a message before the broker sees it.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "broker/broker.h"
#include "broker/invariants.h"
#include "core/base/check.h"
#include "core/codec/codec.h"
#include "store/memory_store.h"
#include "tests/fuzz/fuzz.h"

namespace kq::fuzz {

inline constexpr std::size_t kEventsMax = 64;
inline constexpr std::int64_t kStartMs = 1'700'000'000'000;

// A broker with its store and clock. Its limits are small enough for an input to reach.
class FuzzedBroker {
 public:
  FuzzedBroker() : broker_(*broker::Broker::recover(store_, options(), now_ms_)) {}

  // Runs all events of an input, and a restart after the last.
  void run(std::string_view input) {
    for (std::size_t n = 0; !input.empty() && n < kEventsMax; ++n) {
      const std::uint8_t head = take_byte(input);
      const std::size_t length = static_cast<std::size_t>(take_byte(input)) | static_cast<std::size_t>(take_byte(input))
                                                                                  << 8;
      run_turn(static_cast<Kind>(head % kKinds), static_cast<std::uint8_t>(head / kKinds), take(input, length));
    }
    run_turn(Kind::restart, 0, {});
  }

  // Returns how many leases the broker has sent to workers.
  std::size_t lease_count() const { return lease_count_; }

 private:
  enum class Kind { client, worker, undelivered, time, restart };
  static constexpr std::size_t kKinds = 5;

  static broker::BrokerOptions options() {
    broker::BrokerOptions options;
    options.unfinished_jobs_max = 8;
    options.sessions_max = 4;
    options.leases_per_step_max = 4;
    return options;
  }

  // Runs one turn of the broker with this event. `number` selects the peer, and the job of an undelivered lease.
  void run_turn(Kind kind, std::uint8_t number, std::string_view bytes) {
    const std::string peer(1, static_cast<char>('a' + number % 3));
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
        step(broker::Undelivered{.peer = peer, .leases = {{.seq = number, .attempt = 1}}}, turn);
        break;
      case Kind::time:
        break;
      case Kind::restart:
        break;
    }
    step(broker::Dispatch{}, turn);
    finish(std::move(turn));
  }

  void step(broker::Event event, broker::Ready& turn) {
    auto ready = broker_.step(std::move(event), now_ms_);
    KQ_CHECK(ready.has_value());  // an intact store in memory cannot fail
    if (const auto broken = broker::broken_invariant(broker_.state())) {
      std::fprintf(stderr, "broken invariant: %s\n", broken->c_str());
      std::abort();
    }
    turn.merge(std::move(*ready));
  }

  void finish(broker::Ready turn) {
    const auto sends = broker::commit(std::move(turn), store_);
    KQ_CHECK(sends.has_value());
    for (const broker::Send& send : *sends) check(send);
  }

  // Checks that the receiver can decode the message.
  void check(const broker::Send& send) {
    if (const auto* to_client = std::get_if<broker::ToClient>(&send)) {
      KQ_CHECK(decode_message<ClientReply>(encode_message(to_client->message)));
      return;
    }
    const Message<WorkerReply>& message = std::get<broker::ToWorker>(send).message;
    KQ_CHECK(decode_message<WorkerReply>(encode_message(message)));
    if (const auto* batch = std::get_if<LeaseBatch>(&message.body)) lease_count_ += batch->leases.size();
  }

  store::MemoryStore store_;
  std::int64_t now_ms_ = kStartMs;
  broker::Broker broker_;
  std::size_t lease_count_ = 0;
};

}  // namespace kq::fuzz
