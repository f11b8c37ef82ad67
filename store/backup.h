// A store's copy, and a store from a copy. The copy is a store of its own, which tools can read.
#pragma once

#include <functional>
#include <string>

#include "store/store.h"
#include "store/verify.h"

namespace kq::store {

// Of a store that is open, also while it is written to. `dir` must not exist, and exists only whole.
Expected<void> backup(Store& store, const std::string& dir);

// Makes `dir`, which is missing or empty, a store with what `from` holds; `from` stays as it is. Refuses a store that
// another process has open, and a copy in which verify() finds problems: each is reported. Where it fails `dir` is left
// empty; a process killed meanwhile leaves it without a store. Synced when it returns.
Expected<Verified> restore(const std::string& from, const std::string& dir,
                           const std::function<void(const std::string& problem)>& report);

}  // namespace kq::store
