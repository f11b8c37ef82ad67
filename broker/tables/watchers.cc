#include "broker/tables/watchers.h"

namespace kq::broker {

bool Watchers::add(Watcher watcher) {
  drop(watcher.peer, watcher.request_id);
  if (watchers_.size() >= watchers_max_ || watcher.seqs.size() > jobs_max_ - job_count_) return false;
  const Number number = ++last_;
  by_request_.emplace(std::pair(watcher.peer, watcher.request_id), number);
  by_time_.emplace(watcher.until_ms, number);
  for (const Sequence seq : watcher.seqs) by_job_.emplace(seq, number);
  job_count_ += watcher.seqs.size();
  watchers_.emplace(number, std::move(watcher));
  return true;
}

void Watchers::drop(const std::string& peer, std::uint64_t request_id) {
  const auto known = by_request_.find({peer, request_id});
  if (known != by_request_.end()) remove(known->second);
}

void Watchers::remove(Number number) {
  const auto found = watchers_.find(number);
  const Watcher& watcher = found->second;
  for (const Sequence seq : watcher.seqs) by_job_.erase({seq, number});
  job_count_ -= watcher.seqs.size();
  by_time_.erase({watcher.until_ms, number});
  by_request_.erase({watcher.peer, watcher.request_id});
  due_.erase(number);
  watchers_.erase(found);
}

void Watchers::job_finished(Sequence seq) {
  for (auto one = by_job_.lower_bound({seq, 0}); one != by_job_.end() && one->first == seq; ++one)
    due_.insert(one->second);
}

std::vector<Watcher> Watchers::take_due(std::int64_t now_ms) {
  for (const auto& [until_ms, number] : by_time_) {
    if (until_ms > now_ms) break;
    due_.insert(number);
  }
  std::vector<Watcher> due;
  const std::vector<Number> numbers(due_.begin(), due_.end());
  for (const Number number : numbers) {
    due.push_back(watchers_.at(number));
    remove(number);
  }
  return due;
}

std::optional<std::int64_t> Watchers::next_ms() const {
  if (by_time_.empty()) return std::nullopt;
  return by_time_.begin()->first;
}

std::vector<Sequence> Watchers::watched() const {
  std::vector<Sequence> seqs;
  for (const auto& [seq, number] : by_job_) {
    if (!due_.contains(number)) seqs.push_back(seq);
  }
  return seqs;
}

}  // namespace kq::broker
