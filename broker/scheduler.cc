#include "broker/scheduler.h"

#include <algorithm>

#include "core/check.h"

namespace kq {

bool fits(const Offer& offer, const DeviceInfo& device, const Requirements& lane) {
  if (!serves(device, lane)) return false;
  return device.kind == DeviceKind::cuda || lane.wish == DeviceWish::cpu || offer.cpu_takes_any;
}

void Scheduler::add(const Requirements& lane, Sequence seq, const Hash& problem) {
  KQ_CHECK(lanes_[lane].waiting.emplace(seq, problem).second);
}

void Scheduler::remove(const Requirements& lane, Sequence seq) {
  const auto place = lanes_.find(lane);
  KQ_CHECK(place != lanes_.end());
  Queue& queue = place->second;
  if (queue.waiting.begin()->first == seq) queue.passed_by = 0;
  KQ_CHECK(queue.waiting.erase(seq) == 1);
  if (queue.waiting.empty()) lanes_.erase(place);
}

std::optional<Sequence> Scheduler::choose(const Offer& offer) {
  // The lane whose head has waited longest, of those that run here.
  Queue* oldest = nullptr;
  for (auto& [lane, queue] : lanes_) {
    const auto runs = [&](const DeviceInfo& device) { return fits(offer, device, lane); };
    if (std::none_of(offer.devices.begin(), offer.devices.end(), runs)) continue;
    if (oldest == nullptr || queue.waiting.begin()->first < oldest->waiting.begin()->first) oldest = &queue;
  }
  if (oldest == nullptr) return std::nullopt;

  const auto head = oldest->waiting.begin();
  if (!offer.warm_problem || oldest->passed_by >= kPassedByMax) return head->first;
  auto place = head;
  for (std::size_t i = 0; i < kWarmWindow && place != oldest->waiting.end(); ++i, ++place) {
    if (place->second != *offer.warm_problem) continue;
    if (place != head) ++oldest->passed_by;
    return place->first;
  }
  return head->first;
}

bool Scheduler::contains(const Requirements& lane, Sequence seq) const {
  const auto place = lanes_.find(lane);
  return place != lanes_.end() && place->second.waiting.contains(seq);
}

std::size_t Scheduler::size() const {
  std::size_t n = 0;
  for (const auto& [lane, queue] : lanes_) n += queue.waiting.size();
  return n;
}

}  // namespace kq
