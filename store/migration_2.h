// Migrates schema 1 to 2: a JobRecord gets the fields of its submission that the queue needs, the queue is stored on
// disk, and each job leads to its labels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/store.h"

namespace kq::store {

// A row of the table in migration.cc. `slice` appends the writes of one commit for at most `records` records and
// returns the place at which the next slice continues, or an empty text when the step is done. `place` is the place
// that the previous slice returned, empty at first.
struct MigrationStep {
  std::uint32_t from;
  const char* what;
  Expected<std::string> (*slice)(const Store& store, const std::string& place, std::size_t records,
                                 std::vector<Write>& writes);
};

Expected<std::string> migrate_1_to_2(const Store& store, const std::string& place, std::size_t records,
                                     std::vector<Write>& writes);

}  // namespace kq::store
