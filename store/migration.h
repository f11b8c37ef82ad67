// Migrates a store of an older version of kq to kSchemaVersion when it is opened for writing.
//
// A step migrates schema N to N + 1 in slices. Each slice is one commit, which also records the step's progress, and
// the last slice records the new schema. A process that was killed meanwhile continues where it stopped. Memory is
// bounded by one slice, however large the store is. A step may read old records with the current decoder, since new
// fields have defaults. A step must not change after its release, because existing stores may be at any point of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "store/store.h"

namespace kq::store {

inline constexpr std::uint32_t kOldestSchema = 1;
// The key in family meta that holds the place at which the running step continues.
inline constexpr std::string_view kMigrationKey = "migration";
inline constexpr std::size_t kMigrationSliceRecords = 1'000;

using MigrationNote = std::function<void(const std::string&)>;

// Migrates from schema `from`, which the store records. Calls `note` with one sentence per step.
Expected<void> migrate(Store& store, std::uint32_t from, const MigrationNote& note,
                       std::size_t slice_records = kMigrationSliceRecords);

}  // namespace kq::store
