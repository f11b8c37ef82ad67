// The commits that the fault tests write. The number of a commit decides its contents, so a store can be checked
// without a copy of what was written.
#pragma once

#include <string>
#include <vector>

#include "store/keys.h"
#include "store/store.h"

namespace kq::faults {

// The number of seeds to run and the first seed, from the command line (main.cc).
extern std::uint64_t seed_count;
extern std::uint64_t first_seed;

// Returns the writes of commit n; n starts at 1. The commit writes to several families, with values of up to several
// blocks of the log, and removes the keys of all earlier commits from `ids`.
std::vector<store::Write> batch(Sequence n);

// Returns the number of the newest commit, or 0 if there is none.
Expected<Sequence> commits_in(const store::Store& store);

// Returns an error text if the store does not hold exactly the commits 1 to n, or an empty text if it does.
std::string validate(const store::Store& store, Sequence n);

}  // namespace kq::faults
