// The broker as a pure function: an event and the time go in, and what must be done comes out.
//
// step() uses no clock, no socket and no randomness, and only reads the store. What it wants written, sent and logged
// is in its Ready. A turn is a Tick, any number of other steps, and a Dispatch; all of a turn is committed together
// (broker/core/ready.h). Everything that must survive a restart is in the store; recover() rebuilds the rest.
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
  // Reads the unfinished jobs from the store, which must outlive the broker. Leased jobs keep their leases for one more
  // lease time, so that their workers can reconnect and list them.
  static Expected<Broker> recover(const store::Store& store, const BrokerOptions& options, std::int64_t now_ms);

  // `now_ms` is Unix time that never goes back. An Error means that the store could not be read. Then the process must
  // end, as after a failed commit.
  Expected<Ready> step(Event event, std::int64_t now_ms);
  // The same, but appends to what earlier steps of the turn want.
  Expected<void> step(Event event, std::int64_t now_ms, Ready& turn);

  // For invariants and tests.
  const State& state() const { return state_; }

 private:
  explicit Broker(State state) : state_(std::move(state)) {}

  State state_;
};

}  // namespace kq::broker
