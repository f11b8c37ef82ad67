// What kq-cache tells of a build cache: text for people, JSON for programs.
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
  bool is_sound = true;  // verify: every entry is what was put
};

// Does what the verb says. `bytes_max`: what prune leaves.
CacheAnswer ask_cache(const BuildCache& cache, CacheVerb verb, std::uintmax_t bytes_max, bool as_json);

}  // namespace kq::worker
