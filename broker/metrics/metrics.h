// The broker's counters since it started, and its current figures, as Prometheus samples. docs/operator/run.md explains
// them.
#pragma once

#include <array>
#include <cstddef>
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

// How a prebuild (jobs/prebuild.h) ended: its artifact was taken, it failed, or its builder was too late or left.
enum class BuildEnding { taken, declined, lapsed };
constexpr std::array<std::string_view, 3> enum_names(BuildEnding) {
  return {"taken", "declined", "lapsed"};
}

class Metrics {
 public:
  void submitted(Backend backend) { ++submitted_count_[static_cast<std::size_t>(backend)]; }
  void reused() { ++reused_count_; }
  void refused(std::uint64_t job_count = 1) { refused_count_ += job_count; }
  void busy() { ++busy_count_; }
  void first_leased(std::int64_t wait_ms) { wait_s_.add(static_cast<double>(wait_ms) / 1e3); }
  void lapsed() { ++lapsed_count_; }
  void failed() { ++failed_count_; }
  // Counts an accepted result of a worker.
  void add_result(const Result& result) { results_.add_result(result); }
  void build_ended(BuildEnding ending) { ++build_count_[static_cast<std::size_t>(ending)]; }
  void removed_job() { ++removed_job_count_; }
  void removed_file() { ++removed_file_count_; }
  void finished(Backend backend, VerdictName verdict) {
    ++finished_count_[static_cast<std::size_t>(backend)][static_cast<std::size_t>(verdict)];
  }

  // Appends the counters.
  void append_to(std::vector<Metric>& metrics) const;

 private:
  static constexpr std::size_t kBackends = kEnumNames<Backend>.size();
  static constexpr std::size_t kVerdictNames = kEnumNames<VerdictName>.size();

  std::array<std::uint64_t, kBackends> submitted_count_{};
  std::array<std::array<std::uint64_t, kVerdictNames>, kBackends> finished_count_{};
  std::uint64_t reused_count_ = 0;
  std::uint64_t refused_count_ = 0;
  std::uint64_t busy_count_ = 0;
  std::uint64_t lapsed_count_ = 0;
  std::uint64_t failed_count_ = 0;
  std::array<std::uint64_t, kEnumNames<BuildEnding>.size()> build_count_{};
  std::uint64_t removed_job_count_ = 0;
  std::uint64_t removed_file_count_ = 0;
  Histogram<8> wait_s_{{0.01, 0.1, 1, 10, 60, 600, 3'600, 86'400}};
  ResultMetrics results_;
};

// At most this many paused submitters have a row with their name.
inline constexpr std::size_t kPausedNamesMax = 64;

// Returns the counters and the current figures.
std::vector<Metric> metrics_of(const State& state, std::int64_t now_ms);

}  // namespace kq::broker
