// The lanes of a worker.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gpu_worker/lane/lane.h"

namespace kq::worker {

struct Lanes {
  std::vector<std::unique_ptr<Lane>> open;
  std::vector<std::string> closed;  // a sentence for each device that did not open
};

// Of several devices those that open: one that is broken, or another worker's, does not keep the others from working.
// An Error where none does: the first's.
Expected<Lanes> open_lanes(const std::vector<LaneOptions>& wanted);

// For builds: the first that lives, and of which nothing is wrong with the lane.
Expected<std::shared_ptr<Zygote>> zygote_of(const std::vector<std::unique_ptr<Lane>>& lanes);

}  // namespace kq::worker
