#include "broker/tables/scheduler.h"

#include <algorithm>

#include "core/base/check.h"

namespace kq::broker {

bool has(const Offer& offer, const Requirements& needs) {
  if (!offer.backends.empty() &&
      std::find(offer.backends.begin(), offer.backends.end(), needs.backend) == offer.backends.end()) {
    return false;
  }
  return std::includes(offer.labels.begin(), offer.labels.end(), needs.labels.begin(), needs.labels.end());
}

bool is_slow_to_build(const Requirements& needs) {
  return needs.backend == Backend::torch_cuda;
}

bool fits(const Offer& offer, const DeviceInfo& device, const Requirements& needs) {
  if (!serves(device, needs)) return false;
  return device.kind == DeviceKind::cuda || needs.wish == DeviceWish::cpu || offer.cpu_takes_any;
}

void Scheduler::add(const store::LaneId& id, const Lane::QueuedJob& job) {
  entry(id).lane.add(job);
  ++size_;
  update_lists(id);
}

void Scheduler::restore(const store::LaneId& id, const Lane::QueuedJob& job) {
  entry(id).lane.restore(job);
  ++size_;
  update_lists(id);
}

void Scheduler::remove(const store::LaneId& id, Sequence seq) {
  const auto place = lanes_.find(id);
  KQ_CHECK(place != lanes_.end());
  place->second.lane.remove(seq);
  --size_;
  update_lists(id);
}

void Scheduler::refill(const store::LaneId& id, std::span<const Lane::QueuedJob> more, bool exhausted) {
  const auto place = lanes_.find(id);
  if (place == lanes_.end()) return;
  place->second.lane.refill(more, exhausted);
  update_lists(id);
}

std::optional<Scheduler::Place> Scheduler::choose(const Offer& offer, const WarmthFor& warmth_for) {
  // Choose the priority whose oldest job, with its head start, was submitted first.
  struct Candidate {
    GroupId id;
    const Group* group;
  };
  std::vector<Candidate> fitting;
  std::optional<std::pair<std::int64_t, Priority>> first;
  for (const auto& [id, group] : groups_) {
    const Requirements& needs = *classes.name(id.second);
    const auto runs = [&](const DeviceInfo& device) { return fits(offer, device, needs); };
    if (!has(offer, needs) || std::none_of(offer.devices.begin(), offer.devices.end(), runs)) continue;
    fitting.push_back({id, &group});
    const std::int64_t head_start_ms = kHeadStartMs * static_cast<std::int64_t>(id.first);
    const std::int64_t at_ms = group.by_age.begin()->first - head_start_ms;
    // Of two equal times the higher priority wins; it comes later in the map.
    if (!first || at_ms <= first->first) first = {at_ms, id.first};
  }
  if (!first) return std::nullopt;
  std::erase_if(fitting, [&](const Candidate& candidate) { return candidate.id.first != first->second; });
  const auto is_slow = [&](const Candidate& candidate) { return is_slow_to_build(*classes.name(candidate.id.second)); };
  if (offer.prefers_quick && !std::ranges::all_of(fitting, is_slow)) std::erase_if(fitting, is_slow);

  // Choose the submitter with the smallest share, and cap the shares of the others.
  const auto least = std::min_element(fitting.begin(), fitting.end(), [](const Candidate& a, const Candidate& b) {
    return *a.group->by_share.begin() < *b.group->by_share.begin();
  });
  const auto [share, submitter] = *least->group->by_share.begin();
  std::vector<std::uint32_t> ahead;
  for (const Candidate& candidate : fitting) {
    const auto& by_share = candidate.group->by_share;
    for (auto one = by_share.rbegin(); one != by_share.rend() && one->first > share + 1; ++one)
      ahead.push_back(one->second);
  }
  for (const std::uint32_t number : ahead) set_share(number, share + 1);

  // Choose the submitter's lane with the oldest job.
  std::optional<Place> oldest;
  const Lane* chosen = nullptr;
  for (const Candidate& candidate : fitting) {
    const store::LaneId id{.needs = candidate.id.second, .priority = candidate.id.first, .submitter = submitter};
    const auto place = lanes_.find(id);
    if (place == lanes_.end() || !place->second.listed) continue;
    const Lane& lane = place->second.lane;
    if (oldest && oldest->seq < lane.head()->seq) continue;
    oldest = Place{id, lane.head()->seq};
    chosen = &lane;
  }
  const Warmth warmth = warmth_for ? warmth_for(*classes.name(oldest->lane.needs)) : Warmth{};
  return Place{oldest->lane, chosen->choose(warmth)};
}

// The caller must not iterate over groups_ meanwhile: this removes and adds groups.
void Scheduler::set_share(std::uint32_t number, std::uint64_t share) {
  Submitter& submitter = shares_[number];
  submitter.share = share;
  for (const store::LaneId& id : submitter.lanes) update_lists(id);
}

void Scheduler::charge(std::uint32_t number) {
  Submitter& submitter = shares_[number];
  share_now_ = std::max(share_now_, submitter.share);
  submitter.share += 1;
  for (const store::LaneId& id : submitter.lanes) update_lists(id);
}

void Scheduler::pause(std::uint32_t number, bool paused) {
  Submitter& submitter = shares_[number];
  submitter.paused = paused;
  for (const store::LaneId& id : submitter.lanes) update_lists(id);
}

void Scheduler::drop_released_submitters() {
  std::erase_if(shares_,
                [this](const auto& one) { return one.second.lanes.empty() && submitters.name(one.first) == nullptr; });
}

const Lane* Scheduler::find(const store::LaneId& id) const {
  const auto place = lanes_.find(id);
  return place == lanes_.end() ? nullptr : &place->second.lane;
}

// Returns the lane, and makes it if needed. A submitter without lanes then starts with the share of the others.
Scheduler::Entry& Scheduler::entry(const store::LaneId& id) {
  const auto [place, is_new] = lanes_.try_emplace(id, Entry{.lane = Lane(window_)});
  if (is_new) {
    Submitter& submitter = shares_[id.submitter];
    if (submitter.lanes.empty()) submitter.share = std::max(submitter.share, share_now_);
    submitter.lanes.insert(id);
  }
  return place->second;
}

void Scheduler::list(const store::LaneId& id, Entry& entry) {
  Group& group = groups_[{id.priority, id.needs}];
  group.by_share.emplace(entry.listed->first, id.submitter);
  group.by_age.emplace(entry.listed->second, id.submitter);
}

void Scheduler::unlist(const store::LaneId& id, Entry& entry) {
  const auto place = groups_.find({id.priority, id.needs});
  place->second.by_share.erase({entry.listed->first, id.submitter});
  place->second.by_age.erase({entry.listed->second, id.submitter});
  if (place->second.by_share.empty()) groups_.erase(place);
}

// Updates the lists after a change of the lane or its submitter, and removes the lane if it is empty.
void Scheduler::update_lists(const store::LaneId& id) {
  const auto place = lanes_.find(id);
  Entry& entry = place->second;
  Submitter& submitter = shares_[id.submitter];
  std::optional<std::pair<std::uint64_t, std::int64_t>> wanted;
  const Lane::QueuedJob* head = entry.lane.head();
  if (head != nullptr && !submitter.paused) wanted = {submitter.share, head->submitted_at_ms};
  if (wanted != entry.listed) {
    if (entry.listed) unlist(id, entry);
    entry.listed = wanted;
    if (entry.listed) list(id, entry);
  }
  if (entry.lane.needs_refill()) {
    lanes_to_refill_.insert(id);
  } else {
    lanes_to_refill_.erase(id);
  }
  if (!entry.lane.empty()) return;
  submitter.lanes.erase(id);
  lanes_.erase(place);
}

}  // namespace kq::broker
