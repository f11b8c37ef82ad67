// The queue: all unfinished jobs, in four tables that change together.
//
// Everybody may read the tables. Only jobs/lifecycle.cc and recovery.cc may change them, because each change of a job
// touches several tables and the store: Queue::tables() takes a key that no other code can make.
#pragma once

#include "broker/tables/accounts.h"
#include "broker/tables/job_table.h"
#include "broker/tables/scheduler.h"
#include "broker/tables/timers.h"

namespace kq::broker {

struct QueueTables {
  JobTable jobs{};
  Scheduler scheduler{};  // exactly the queued jobs that may run now
  Timers timers{};        // the queued jobs that wait for a time, and deadlines
  Accounts accounts{};    // all unfinished jobs
};

class Queue {
 public:
  // The permission to change the tables.
  class WriterKey {
    WriterKey() = default;
    friend struct Lifecycle;        // jobs/lifecycle.cc
    friend class Recovery;          // recovery.cc
    friend struct QueueTestAccess;  // testing/queue_access.h
  };

  explicit Queue(LaneWindow window = {}) : tables_{.scheduler = Scheduler(window)} {}

  const JobTable& jobs() const { return tables_.jobs; }
  const Scheduler& scheduler() const { return tables_.scheduler; }
  const Timers& timers() const { return tables_.timers; }
  const Accounts& accounts() const { return tables_.accounts; }

  QueueTables& tables(WriterKey) { return tables_; }

 private:
  QueueTables tables_;
};

}  // namespace kq::broker
