// A copy of a store that arrives part by part.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "sys/fd.h"

namespace kq::broker {

// Writes the files beside the store, and puts them in the store's place when all of them are there. The store that was
// in this place is kept as STORE.replaced until the next copy, because it may have commits that the copy lacks.
class CopyTarget {
 public:
  // `store_dir` is the place of the store. Removes what an earlier copy left unfinished.
  static Expected<CopyTarget> begin(const std::string& store_dir);

  // Appends to a file. Parts of one file arrive in order. Refuses names that are no plain file names.
  Expected<void> write(const std::string& name, std::uint64_t offset, std::string_view bytes);
  // Syncs the files and moves them to the store's place. No process may have the store open.
  Expected<void> finish();

 private:
  explicit CopyTarget(std::string store_dir) : store_dir_(std::move(store_dir)), dir_(store_dir_ + ".copy") {}
  Expected<void> close_file();

  std::string store_dir_;
  std::string dir_;
  std::string name_;  // of the current file
  sys::Fd file_;
  std::uint64_t written_ = 0;  // bytes of the current file
};

}  // namespace kq::broker
