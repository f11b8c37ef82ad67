// What the fault tests write: commits of which the number decides everything, so that a store can be checked without a
// record of it.
#pragma once

#include <string>
#include <vector>

#include "store/keys.h"
#include "store/store.h"

namespace kq::faults {

// Set by the command line (main.cc).
extern std::uint64_t seeds_n;
extern std::uint64_t first_seed;

// Commit n, from 1: three families, values of up to several blocks of the log; the keys of all commits before are
// removed from `ids`.
std::vector<store::Write> batch(Sequence n);

// The number of the newest commit.
Expected<Sequence> commits_in(const store::Store& store);

// What is wrong with a store that should hold commits 1..n and nothing else, or nothing.
std::string complaint_about(const store::Store& store, Sequence n);

}  // namespace kq::faults
