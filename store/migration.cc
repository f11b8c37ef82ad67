#include "store/migration.h"

#include <utility>
#include <vector>

#include "core/records.h"
#include "store/keys.h"
#include "store/migration_2.h"
#include "store/migration_5.h"

namespace kq::store {
namespace {

// A step that changes no records. The new schema only adds records that an older kq would not find or could not read.
Expected<std::string> mark(const Store&, const std::string&, std::size_t, std::vector<Write>&) {
  return "";
}

// One row per step, in order: from kOldestSchema to kSchemaVersion.
constexpr MigrationStep kSteps[] = {
    {.from = 1, .what = "jobs learn their requirements and take their places in the queue", .slice = migrate_1_to_2},
    {.from = 2, .what = "files may rest packed by LZ4", .slice = mark},
    {.from = 3, .what = "records may rest without the names of their fields", .slice = mark},
    {.from = 4, .what = "boards are computed anew, with a figure for each kernel", .slice = migrate_4_to_5},
};
static_assert(std::size(kSteps) == kSchemaVersion - kOldestSchema);

Expected<void> run(Store& store, const MigrationStep& step, std::size_t slice_records) {
  for (;;) {
    KQ_TRY_VALUE(auto place, store.get(Family::meta, kMigrationKey));
    std::vector<Write> writes;
    KQ_TRY_VALUE(auto next, step.slice(store, place.value_or(""), slice_records, writes));
    const bool done = next.empty();
    if (done) {
      writes.push_back({Family::meta, std::string(kMigrationKey), std::nullopt});
      writes.push_back({Family::meta, std::string(kSchemaKey), std::to_string(step.from + 1)});
    } else {
      writes.push_back({Family::meta, std::string(kMigrationKey), std::move(next)});
    }
    if (auto committed = store.commit(writes); !committed) return committed;
    if (done) return {};
  }
}

}  // namespace

Expected<void> migrate(Store& store, std::uint32_t from, const MigrationNote& note, std::size_t slice_records) {
  for (const MigrationStep& step : kSteps) {
    if (step.from < from) continue;
    note("the store has schema " + std::to_string(step.from) + ": " + step.what);
    if (auto done = run(store, step, slice_records); !done) return done;
  }
  return {};
}

}  // namespace kq::store
