// Clocks and percentiles of the load programs, and how they give up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kq::bench {

std::int64_t now_ns();         // monotonic
std::int64_t thread_cpu_ns();  // of the calling thread
std::int64_t process_cpu_ns();

// Not thread-safe: one per thread, merged at the end.
class Latencies {
 public:
  void add(std::int64_t ns) { ns_.push_back(ns); }
  void merge(const Latencies& other);
  std::size_t size() const { return ns_.size(); }
  // `percent` of 0..100; 0 without samples. Sorts once.
  double percentile_us(double percent);

 private:
  std::vector<std::int64_t> ns_;
  bool sorted_ = false;
};

// A load program that cannot go on says why and ends, whichever thread finds out: a figure of half a run is worth
// nothing.
[[noreturn]] void give_up(const std::string& sentence);

}  // namespace kq::bench
