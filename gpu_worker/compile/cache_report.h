// The output of kq-cache: text for people or JSON for programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu_worker/compile/cache.h"

namespace kq::worker {

enum class CacheVerb { ls, stats, verify, prune };
constexpr std::array<std::string_view, 4> enum_names(CacheVerb) {
  return {"ls", "stats", "verify", "prune"};
}

struct CacheAnswer {
  std::string text;
  bool is_sound = true;  // false if verify has found a damaged entry
};

// Runs a verb on the cache and returns its output. `bytes_max` is how much prune leaves.
CacheAnswer ask_cache(const BuildCache& cache, CacheVerb verb, std::uintmax_t bytes_max, bool as_json);

}  // namespace kq::worker
