// Schema 1 -> 2: a JobRecord knows what the queue must know of its submission, the queue is on disk, and a job leads to
// its labels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/store.h"

namespace kq::store {

// A row of the table in migration.cc. `slice` appends what one commit is to hold, for at most `records` records, and
// gives where the next slice goes on; empty: the step is done. `place` is what the slice before gave, empty at the
// beginning.
struct MigrationStep {
  std::uint32_t from;
  const char* what;
  Expected<std::string> (*slice)(const Store& store, const std::string& place, std::size_t records,
                                 std::vector<Write>& writes);
};

Expected<std::string> migrate_1_to_2(const Store& store, const std::string& place, std::size_t records,
                                     std::vector<Write>& writes);

}  // namespace kq::store
