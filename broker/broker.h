// The broker as one function: an event and the time go in, what is to be done comes out.
//
// No clock, no socket, no randomness, and the disk only for reading: what step() wants written, sent and logged is in
// its Ready. A turn is a Tick, any number of other steps, and a Dispatch, all in one commit (broker/core/ready.h).
// Everything that must survive is in the store; the rest is rebuilt by recover().
#pragma once

#include <cstdint>

#include "broker/core/event.h"
#include "broker/core/options.h"
#include "broker/core/ready.h"
#include "broker/core/state.h"
#include "core/base/error.h"
#include "store/store.h"

namespace kq::broker {

class Broker {
 public:
  // Reads the unfinished jobs back. Leased ones wait one lease for their worker to come back and list them. `store`
  // outlives the broker.
  static Expected<Broker> recover(const store::Store& store, const BrokerOptions& options, std::int64_t now_ms);

  // `now_ms` is Unix time that never goes back. An Error means that the store could not be read: the process ends, as
  // after a failed commit.
  Expected<Ready> step(Event event, std::int64_t now_ms);
  // The same, behind what earlier steps of the turn want.
  Expected<void> step(Event event, std::int64_t now_ms, Ready& turn);

  // For invariants and tests.
  const State& state() const { return state_; }

 private:
  explicit Broker(State state) : state_(std::move(state)) {}

  State state_;
};

}  // namespace kq::broker
