// Brings a store that an older version of kq wrote up to kSchemaVersion, when it is opened for writing.
//
// A step takes schema N to N + 1, in slices: each is one commit that also says how far the step has come, and the last
// one names the new schema. A process that is killed meanwhile goes on where it stopped. Memory is bounded by a slice,
// however large the store. A step may read records of before by today's decoder, since a field that is new has a
// default; what it may not do is change its ways after its release: stores in the world are at every point of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "store/store.h"

namespace kq::store {

inline constexpr std::uint32_t kOldestSchema = 1;
inline constexpr std::string_view kMigrationKey = "migration";  // family meta: where the running step goes on
inline constexpr std::size_t kMigrationSliceRecords = 1'000;

using MigrationNote = std::function<void(const std::string&)>;

// `from` is the schema that the store names. Notes say in a sentence what is being done, once per step.
Expected<void> migrate(Store& store, std::uint32_t from, const MigrationNote& note,
                       std::size_t slice_records = kMigrationSliceRecords);

}  // namespace kq::store
