// Lets unit tests change the queue's tables, to build a state or to break an invariant.
#pragma once

#include "broker/core/state.h"

namespace kq::broker {

struct QueueTestAccess {
  static QueueTables& tables(State& state) { return state.queue.tables(Queue::WriterKey()); }
};

}  // namespace kq::broker
