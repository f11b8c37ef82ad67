// The plots of runs. A plot is a specification in Vega-Lite (share/report/plots.json) and the values that it shows.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/records.h"
#include "producer/client/json.h"
#include "tools/views/boards.h"

namespace kq::tools {

// One measured job, as far as plots show it.
struct PlotPoint {
  std::string label = {};
  std::string problem = {};
  std::string device = {};
  std::string verdict = {};
  double median_us = 0;
  double reference_us = 0;
  double speedup = 0;  // 0: there is none
  double spread = 0;   // relative standard deviation of the samples
  Sequence seq = 0;
};

inline constexpr std::size_t kPlotPointsMax = 3'000;  // drawn points of a plot; of more jobs some are left out evenly
inline constexpr std::size_t kCurvePointsMax = 400;   // of one line of the curve of fast_p
inline constexpr std::size_t kStripKernelsMax = 12;   // kernels of a problem whose samples are drawn
inline constexpr std::size_t kStripSamplesMax = 60;   // samples of one kernel that are drawn

// The values of one plot, as JSON text of an array of objects.
struct PlotValues {
  std::string_view kind;
  std::string values = {};
  std::string note = {};  // a sentence about what is left out; empty for nothing
};

// The raw samples of one kernel.
struct Strip {
  std::string label = {};
  double median_us = 0;
  std::vector<std::int64_t> submission_ns = {};
  std::vector<std::int64_t> reference_ns = {};
};

// Collects what the plots show, row by row.
class PlotBuilder {
 public:
  void add(const RunRow& row);

  const std::vector<PlotPoint>& points() const { return points_; }
  // Returns the plots of the run: verdicts, fast-p, speedups, ranks and times.
  std::vector<PlotValues> values(const Leaderboard& board) const;
  // Returns the strips of the fastest kernels of each problem, as JSON: {"problems": [{"name": ..., "strips": [...]}]}.
  std::string strips() const;
  // Returns the values of the plot `samples` of one problem; empty where no kernel of the problem has samples.
  std::string samples_of(const std::string& problem) const;
  // Returns which kernels of the problem that plot shows where it leaves out others: "the 12 fastest of 43 kernels".
  std::string note_of_samples(const std::string& problem) const;
  std::vector<std::string> problems_with_samples() const;

 private:
  void add_strip(const RunRow& row, const Measurement& measurement);

  struct VerdictCount {
    std::string fault;
    std::size_t count = 0;
  };
  std::vector<PlotPoint> points_;
  std::map<std::string, VerdictCount> count_by_verdict_;
  std::map<std::string, std::vector<Strip>> strips_;  // by problem; sorted by time when they are read
  std::map<std::string, std::size_t> strip_counts_;   // by problem; all kernels that have samples
};

// The kinds of plots, in the order of the page.
std::span<const std::string_view> plot_kinds();

// Returns the error of a plot that would show no mark; such a plot has no finite size. `values` are those of the plot.
Expected<void> check_drawable(const PlotValues& values);

// Returns the specification of a plot with its values, for a renderer. `plots` is the text of plots.json.
Expected<std::string> whole_plot(std::string_view plots, const PlotValues& values, const std::string& subtitle,
                                 bool dark);

// Returns at most `count_max` samples, taken evenly in their order.
std::vector<std::int64_t> thinned(std::span<const std::int64_t> samples_ns, std::size_t count_max);

}  // namespace kq::tools
