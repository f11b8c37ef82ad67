// Everything that the broker keeps in memory between two steps.
//
// State is owned by Broker. It may be lost at any time: recovery.h rebuilds it from the store. Its parts hold no
// references to one another, so a State can be moved.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "broker/core/options.h"
#include "broker/metrics/metrics.h"
#include "broker/tables/blob_cache.h"
#include "broker/tables/builds.h"
#include "broker/tables/queue.h"
#include "broker/tables/retention.h"
#include "broker/tables/rights.h"
#include "broker/tables/switches.h"
#include "broker/tables/watchers.h"
#include "broker/tables/worker_pool.h"
#include "core/bytes/compress.h"
#include "store/boards.h"
#include "store/store.h"

namespace kq::broker {

struct State {
  BrokerOptions options;
  const store::Store* store = nullptr;  // never null; it shows what earlier turns committed
  Sequence next_sequence = 1;
  Queue queue{options.lane_window};  // all unfinished jobs; only jobs/lifecycle.cc and recovery.cc change it
  WorkerPool workers{};
  Builds builds{};
  Metrics metrics{};
  Switches switches{};
  store::Space space{};
  std::int64_t next_class_warning_ms = 0;   // before this time the warning about too many classes is not repeated
  std::vector<std::string> unused_names{};  // keys of family meta that the next Tick deletes
  Decompressor decompressor{};
  BlobCache blobs{};  // some of the files that are in the store or among the writes of this turn
  Retention retention{};
  Rights rights{};
  Watchers watchers{options.watchers_max, options.watched_jobs_max};
  // Rows of boards as this turn will leave them. Every row that was written since the last Tick is here, and some rows
  // that were only read.
  store::PendingBoards boards{};
};

}  // namespace kq::broker
