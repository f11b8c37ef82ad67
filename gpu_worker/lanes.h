// Opens the lanes of a worker.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu_worker/lane/lane.h"

namespace kq::worker {

struct Lanes {
  std::vector<std::unique_ptr<Lane>> open;
  std::vector<std::string> unopened;  // one sentence for each device that could not be opened
};

// Opens the wanted lanes. A device that is broken or belongs to another worker is left out. Fails with the first error
// if no lane can be opened.
Expected<Lanes> open_lanes(const std::vector<LaneOptions>& wanted);

// Returns the zygote of the first usable lane, for builds.
Expected<std::shared_ptr<Zygote>> zygote_of(const std::vector<std::unique_ptr<Lane>>& lanes);

}  // namespace kq::worker
