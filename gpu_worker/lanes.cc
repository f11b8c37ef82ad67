#include "gpu_worker/lanes.h"

#include <optional>

namespace kq::worker {

Expected<Lanes> open_lanes(const std::vector<LaneOptions>& wanted) {
  Lanes lanes;
  std::optional<Error> first;
  for (const LaneOptions& options : wanted) {
    auto lane = Lane::open(options);
    if (lane) {
      lanes.open.push_back(std::move(*lane));
    } else {
      if (!first) first = lane.error();
      std::string device = std::string(to_string(options.device)) + ":" + std::to_string(options.index);
      for (const int index : options.further_indices) device += "+" + std::to_string(index);
      lanes.unopened.push_back(device + " did not open: " + lane.error().message);
    }
  }
  if (lanes.open.empty() && first) return failure(std::move(*first));
  return lanes;
}

Expected<std::shared_ptr<Zygote>> zygote_of(const std::vector<std::unique_ptr<Lane>>& lanes) {
  Error error{ErrorKind::our_fault, "all devices are quarantined"};
  for (const auto& lane : lanes) {
    if (lane->quarantine()) continue;
    auto zygote = lane->zygote();
    if (zygote) return zygote;
    error = zygote.error();
  }
  return failure(std::move(error));
}

}  // namespace kq::worker
