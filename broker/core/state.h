// What the broker knows in RAM, and one step in progress over it. Owned by Broker; its parts keep no references to one
// another.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "broker/core/options.h"
#include "broker/core/ready.h"
#include "broker/gc/retention.h"
#include "broker/metrics/metrics.h"
#include "broker/tables/accounts.h"
#include "broker/tables/blob_cache.h"
#include "broker/tables/builds.h"
#include "broker/tables/job_table.h"
#include "broker/tables/scheduler.h"
#include "broker/tables/timers.h"
#include "broker/tables/watchers.h"
#include "broker/tables/worker_pool.h"
#include "core/bytes/compress.h"
#include "store/store.h"

namespace kq::broker {

struct State {
  BrokerOptions options;
  const store::Store* store = nullptr;  // never null; shows what earlier turns committed
  Sequence next_sequence = 1;
  JobTable jobs{};
  Scheduler scheduler{};  // exactly the queued jobs whose time has come
  Timers timers{};        // exactly the other queued jobs, and deadlines
  Accounts accounts{};    // all unfinished jobs
  WorkerPool workers{};
  Builds builds{};
  Metrics metrics{};
  std::set<std::string> paused{};                  // submitters; "" is everybody
  std::map<std::string, std::int64_t> draining{};  // workers, and since when; 0: since before this broker began
  store::Space space{};
  std::int64_t note_classes_ms = 0;  // before this nobody is told again who has most of the different requirements
  std::vector<std::string> unused_names{};  // keys of family meta that the next Tick deletes
  Decompressor decompressor{};
  BlobCache blobs{};  // some of those in the store or among the writes of this turn
  Retention retention{};
  Watchers watchers{options.watchers_max, options.watched_jobs_max};
  // Medians of some of the board's holders by their key, as this turn will leave them: every one that is written since
  // the last Tick.
  std::unordered_map<std::string, double> board_ns{};
};

struct Step {
  State& state;
  Ready& ready;
  std::int64_t now_ms;
};

}  // namespace kq::broker
