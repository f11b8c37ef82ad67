// Clocks, percentiles and the fatal exit of the load programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kq::bench {

std::int64_t now_ns();         // monotonic
std::int64_t thread_cpu_ns();  // of the calling thread
std::int64_t process_cpu_ns();

// Samples of a latency, and their percentiles. Not thread-safe: each thread has its own, and they are merged at the
// end.
class Latencies {
 public:
  void add(std::int64_t ns) { ns_.push_back(ns); }
  void merge(const Latencies& other);
  std::size_t size() const { return ns_.size(); }
  // Returns a percentile in microseconds, `percent` from 0 to 100; returns 0 without samples.
  double percentile_us(double percent);

 private:
  std::vector<std::int64_t> ns_;
  bool sorted_ = false;
};

// Prints the sentence on standard error and ends the process with exit code 3, from any thread. Figures of an
// incomplete run are never printed.
[[noreturn]] void give_up(const std::string& sentence);

}  // namespace kq::bench
