// Migrates schema 4 to 5: the boards are computed anew from the jobs that passed, with a figure for each kernel.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "store/store.h"

namespace kq::store {

// As MigrationStep::slice (migration_2.h).
Expected<std::string> migrate_4_to_5(const Store& store, const std::string& place, std::size_t records,
                                     std::vector<Write>& writes);

}  // namespace kq::store
