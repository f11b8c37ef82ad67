#include "tests/bench/measure.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace kq::bench {
namespace {

std::int64_t read_clock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

std::int64_t now_ns() {
  return read_clock(CLOCK_MONOTONIC);
}
std::int64_t thread_cpu_ns() {
  return read_clock(CLOCK_THREAD_CPUTIME_ID);
}
std::int64_t process_cpu_ns() {
  return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void Latencies::merge(const Latencies& other) {
  ns_.insert(ns_.end(), other.ns_.begin(), other.ns_.end());
  sorted_ = false;
}

double Latencies::percentile_us(double percent) {
  if (ns_.empty()) return 0;
  if (!sorted_) std::sort(ns_.begin(), ns_.end());
  sorted_ = true;
  const auto place = static_cast<std::size_t>(percent / 100 * static_cast<double>(ns_.size()));
  return static_cast<double>(ns_[std::min(place, ns_.size() - 1)]) / 1000;
}

void give_up(const std::string& sentence) {
  std::fprintf(stderr, "kq-bench: %s\n", sentence.c_str());
  std::_Exit(3);
}

}  // namespace kq::bench
