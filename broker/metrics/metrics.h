// What the broker counts since it started, and its present figures, as Prometheus samples. Names and meanings:
// docs/operations.md.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "broker/metrics/histogram.h"
#include "broker/metrics/result_metrics.h"
#include "core/base/enum_names.h"
#include "core/operations.h"
#include "core/submission.h"
#include "core/verdict.h"

namespace kq::broker {

struct State;

// How a build for others ended: its object was taken, there was none to take, or its builder was given up.
enum class BuildEnding { taken, declined, lapsed };
constexpr std::array<std::string_view, 3> enum_names(BuildEnding) {
  return {"taken", "declined", "lapsed"};
}

class Metrics {
 public:
  void submitted(Backend backend) { ++submitted_n_[static_cast<std::size_t>(backend)]; }
  void reused() { ++reused_n_; }
  void refused(std::uint64_t jobs_n = 1) { refused_n_ += jobs_n; }
  void busy() { ++busy_n_; }
  void first_leased(std::int64_t wait_ms) { wait_s_.add(static_cast<double>(wait_ms) / 1e3); }
  void lapsed() { ++lapsed_n_; }
  void failed() { ++failed_n_; }
  // A worker's result that counts.
  void heard(const Result& result) { results_.heard(result); }
  void build_ended(BuildEnding ending) { ++builds_n_[static_cast<std::size_t>(ending)]; }
  void removed_job() { ++removed_jobs_n_; }
  void removed_file() { ++removed_files_n_; }
  void finished(Backend backend, VerdictName verdict) {
    ++finished_n_[static_cast<std::size_t>(backend)][static_cast<std::size_t>(verdict)];
  }

  // Counters alone.
  void append_to(std::vector<Metric>& metrics) const;

 private:
  static constexpr std::size_t kBackends = kEnumNames<Backend>.size();
  static constexpr std::size_t kVerdictNames = kEnumNames<VerdictName>.size();

  std::array<std::uint64_t, kBackends> submitted_n_{};
  std::array<std::array<std::uint64_t, kVerdictNames>, kBackends> finished_n_{};
  std::uint64_t reused_n_ = 0;
  std::uint64_t refused_n_ = 0;
  std::uint64_t busy_n_ = 0;
  std::uint64_t lapsed_n_ = 0;
  std::uint64_t failed_n_ = 0;
  std::array<std::uint64_t, kEnumNames<BuildEnding>.size()> builds_n_{};
  std::uint64_t removed_jobs_n_ = 0;
  std::uint64_t removed_files_n_ = 0;
  Histogram<8> wait_s_{{0.01, 0.1, 1, 10, 60, 600, 3'600, 86'400}};
  ResultMetrics results_;
};

// Counters and present figures.
std::vector<Metric> metrics_of(const State& state, std::int64_t now_ms);

}  // namespace kq::broker
