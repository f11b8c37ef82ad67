// Copies a store, and makes a store from a copy. The copy is a store itself, which tools can read.
#pragma once

#include <functional>
#include <string>

#include "store/store.h"
#include "store/verify.h"

namespace kq::store {

// Copies an open store to `dir`, also while other threads write to it. `dir` must not exist; it appears only when the
// copy is complete.
Expected<void> backup(Store& store, const std::string& dir);

// Copies the store in `from` to `dir`, which must be missing or empty, and syncs it. `from` is not changed. Refuses a
// store that another process has open, and a copy in which verify() finds problems; it reports each problem. On failure
// `dir` is left empty. If the process is killed meanwhile, `dir` holds no store.
Expected<Verified> restore(const std::string& from, const std::string& dir,
                           const std::function<void(const std::string& problem)>& report);

}  // namespace kq::store
