#include "tools/report/plots.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "core/leaderboard.h"
#include "tools/cli/text.h"
#include "tools/table/levels.h"

namespace kq::tools {
namespace {

constexpr std::array<std::string_view, 6> kKinds = {"verdicts", "fast-p", "speedups", "ranks", "times", "samples"};
constexpr double kBinsPerDoubling = 4;
constexpr double kBinsMax = 200;

// Appends objects of a JSON array, one member at a time.
class Values {
 public:
  void next() {
    text_ += text_.size() > 1 ? "},\n{" : "{";
    is_first_ = true;
  }
  void put(std::string_view name, std::string_view value) { producer::append_json(printable(value), key(name)); }
  void put(std::string_view name, double value) {
    char digits[32];
    std::snprintf(digits, sizeof digits, "%.6g", value);  // no mark on a plot is placed more exactly
    key(name) += digits;
  }
  void put_whole(std::string_view name, std::uint64_t value) { key(name) += std::to_string(value); }
  std::string finish() && { return std::move(text_) + (text_.size() > 1 ? "}]" : "]"); }

 private:
  std::string& key(std::string_view name) {
    text_ += is_first_ ? "\"" : ", \"";
    text_ += name;
    text_ += "\": ";
    is_first_ = false;
    return text_;
  }
  std::string text_ = "[";
  bool is_first_ = true;
};

template <class T>
std::vector<T> evenly(std::span<const T> items, std::size_t count_max) {
  if (items.size() <= count_max) return {items.begin(), items.end()};
  std::vector<T> chosen;
  chosen.reserve(count_max);
  for (std::size_t i = 0; i < count_max; ++i) chosen.push_back(items[i * (items.size() - 1) / (count_max - 1)]);
  return chosen;
}

std::string note_of(std::size_t shown, std::size_t all) {
  if (shown == all) return "";
  return "Drawn are " + std::to_string(shown) + " of " + std::to_string(all) + " kernels, taken evenly.";
}

PlotValues fast_p_values(const Leaderboard& board) {
  std::map<std::string, std::vector<LeaderboardRow>> by_device;
  for (const Standing& one : board.rows) {
    if (one.row.reference_ns > 0) by_device[one.row.device_model].push_back(one.row);
  }
  Values values;
  for (const auto& [device, best] : by_device) {
    std::vector<double> thresholds{0, 0.5, 1, 1.5, 2};
    std::vector<double> speedups;
    for (const LeaderboardRow& row : best) {
      if (row.speedup > 0) speedups.push_back(row.speedup);
    }
    std::sort(speedups.begin(), speedups.end());
    for (const double speedup : evenly<double>(speedups, kCurvePointsMax)) thresholds.push_back(speedup);
    std::sort(thresholds.begin(), thresholds.end());
    thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
    for (const double p : thresholds) {
      values.next();
      values.put("p", p);
      values.put("fraction", fast_p(best, board.referenced_count, p));
      values.put("device", device);
    }
  }
  return {"fast-p", std::move(values).finish(), ""};
}

PlotValues speedup_values(std::span<const PlotPoint> points) {
  std::map<int, std::size_t> count_by_bin;
  for (const PlotPoint& point : points) {
    if (point.speedup > 0)
      ++count_by_bin[static_cast<int>(
          std::clamp(std::floor(std::log2(point.speedup) * kBinsPerDoubling), -kBinsMax, kBinsMax))];
  }
  Values values;
  for (const auto& [bin, count] : count_by_bin) {
    values.next();
    values.put("from", std::exp2(bin / kBinsPerDoubling));
    values.put("to", std::exp2((bin + 1) / kBinsPerDoubling));
    values.put_whole("jobs", count);
    values.put("side", bin >= 0 ? "faster" : "slower");
  }
  return {"speedups", std::move(values).finish(), ""};
}

void put_point(Values& values, const PlotPoint& point) {
  values.put("label", point.label);
  values.put("problem", point.problem);
  values.put("device", point.device);
  values.put("verdict", point.verdict);
  values.put("speedup", point.speedup);
  values.put_whole("job", point.seq);
}

PlotValues rank_values(std::span<const PlotPoint> points) {
  std::vector<PlotPoint> sorted;
  for (const PlotPoint& point : points) {
    if (point.speedup > 0) sorted.push_back(point);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const PlotPoint& a, const PlotPoint& b) { return a.speedup < b.speedup; });
  std::vector<std::size_t> places(sorted.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  Values values;
  const std::vector<std::size_t> shown = evenly<std::size_t>(places, kPlotPointsMax);
  for (const std::size_t place : shown) {
    const PlotPoint& point = sorted[place];
    values.next();
    put_point(values, point);
    values.put_whole("rank", place + 1);
    values.put("low", point.speedup / (1 + point.spread));
    values.put("high", point.speedup * (1 + point.spread));
  }
  return {"ranks", std::move(values).finish(), note_of(shown.size(), sorted.size())};
}

PlotValues time_values(std::span<const PlotPoint> points) {
  std::vector<PlotPoint> measured;
  for (const PlotPoint& point : points) {
    if (point.median_us > 0 && point.reference_us > 0) measured.push_back(point);
  }
  Values values;
  const std::vector<PlotPoint> shown = evenly<PlotPoint>(measured, kPlotPointsMax);
  for (const PlotPoint& point : shown) {
    values.next();
    put_point(values, point);
    values.put("median_us", point.median_us);
    values.put("reference_us", point.reference_us);
  }
  return {"times", std::move(values).finish(), note_of(shown.size(), measured.size())};
}

// The fastest first; kernels of equal time keep their order.
std::vector<Strip> fastest(std::vector<Strip> strips) {
  std::stable_sort(strips.begin(), strips.end(),
                   [](const Strip& a, const Strip& b) { return a.median_us < b.median_us; });
  if (strips.size() > kStripKernelsMax) strips.resize(kStripKernelsMax);
  return strips;
}

void append_list(std::string& text, std::span<const std::int64_t> samples_ns) {
  text += '[';
  for (std::size_t i = 0; i < samples_ns.size(); ++i) text += (i == 0 ? "" : ",") + std::to_string(samples_ns[i]);
  text += ']';
}

}  // namespace

std::vector<std::int64_t> thinned(std::span<const std::int64_t> samples_ns, std::size_t count_max) {
  return evenly<std::int64_t>(samples_ns, count_max);
}

std::span<const std::string_view> plot_kinds() {
  return kKinds;
}

void PlotBuilder::add(const RunRow& row) {
  const std::string verdict(row.result ? std::string(to_string(name_of(row.result->verdict)))
                                       : producer::state_text(row.job.state));
  VerdictCount& count = count_by_verdict_[verdict];
  ++count.count;
  count.fault = row.result ? to_string(fault_of(row.result->verdict)) : "unfinished";
  const Measurement* measurement = row.result ? measurement_of(row.result->verdict) : nullptr;
  if (measurement == nullptr) return;
  const Statistics& times = measurement->submission;
  points_.push_back({.label = row.entry.submission.label,
                     .problem = row.entry.submission.problem.name,
                     .device = row.result->device.model,
                     .verdict = verdict,
                     .median_us = times.median_ns / 1e3,
                     .reference_us = measurement->reference.median_ns / 1e3,
                     .speedup = speedup(*measurement),
                     .spread = times.sample_count > 1 && times.mean_ns > 0 ? times.std_ns / times.mean_ns : 0,
                     .seq = row.job.seq});
  add_strip(row, *measurement);
}

void PlotBuilder::add_strip(const RunRow& row, const Measurement& measurement) {
  const std::size_t case_number = row.result->cases.empty() ? 0 : row.result->cases.size();
  for (std::size_t i = 0; i < std::max<std::size_t>(1, case_number); ++i) {
    const Samples& samples = case_number == 0 ? row.result->samples : row.result->cases[i].samples;
    if (samples.submission_ns.empty()) continue;
    const std::string& problem = row.entry.submission.problem.name;
    const std::string name = case_number == 0 ? problem : problem + ", " + case_name(row, i);
    ++strip_counts_[name];
    std::vector<Strip>& strips = strips_[name];
    strips.push_back({.label = row.entry.submission.label,
                      .median_us = case_number == 0 ? measurement.submission.median_ns / 1e3
                                                    : summarise(samples.submission_ns).median_ns / 1e3,
                      .submission_ns = thinned(samples.submission_ns, kStripSamplesMax),
                      .reference_ns = thinned(samples.reference_ns, kStripSamplesMax)});
    if (strips.size() >= 4 * kStripKernelsMax) strips = fastest(std::move(strips));
  }
}

std::vector<PlotValues> PlotBuilder::values(const Leaderboard& board) const {
  Values verdicts;
  for (const auto& [verdict, count] : count_by_verdict_) {
    verdicts.next();
    verdicts.put("verdict", verdict);
    verdicts.put("fault", count.fault);
    verdicts.put_whole("jobs", count.count);
  }
  return {{"verdicts", std::move(verdicts).finish(), ""},
          fast_p_values(board),
          speedup_values(points_),
          rank_values(points_),
          time_values(points_)};
}

std::string PlotBuilder::strips() const {
  std::string text = "{\"problems\": [";
  bool is_first = true;
  for (const auto& [problem, strips] : strips_) {
    text += is_first ? "\n{\"name\": " : ",\n{\"name\": ";
    is_first = false;
    producer::append_json(problem, text);
    text += ", \"strips\": [";
    bool is_first_strip = true;
    for (const Strip& strip : fastest(strips)) {
      text += is_first_strip ? "{\"label\": " : ", {\"label\": ";
      is_first_strip = false;
      producer::append_json(strip.label, text);
      text += ", \"submission\": ";
      append_list(text, strip.submission_ns);
      text += ", \"reference\": ";
      append_list(text, strip.reference_ns);
      text += '}';
    }
    text += "]}";
  }
  return text + "]}";
}

std::string PlotBuilder::samples_of(const std::string& problem) const {
  const auto found = strips_.find(problem);
  if (found == strips_.end()) return "";
  Values values;
  for (const Strip& strip : fastest(found->second)) {
    for (const bool is_of_reference : {false, true}) {
      for (const std::int64_t ns : is_of_reference ? strip.reference_ns : strip.submission_ns) {
        values.next();
        values.put("label", strip.label);
        values.put("side", is_of_reference ? "reference" : "submission");
        values.put("us", static_cast<double>(ns) / 1e3);
      }
    }
  }
  return std::move(values).finish();
}

std::string PlotBuilder::note_of_samples(const std::string& problem) const {
  const auto found = strip_counts_.find(problem);
  if (found == strip_counts_.end() || found->second <= kStripKernelsMax) return "";
  return "the " + std::to_string(kStripKernelsMax) + " fastest of " + std::to_string(found->second) + " kernels";
}

std::vector<std::string> PlotBuilder::problems_with_samples() const {
  std::vector<std::string> names;
  for (const auto& [problem, strips] : strips_) names.push_back(problem);
  return names;
}

Expected<void> check_drawable(const PlotValues& values) {
  if (values.values != "[]") return {};
  const std::string_view missing = values.kind == "fast-p"  ? "passed with a time"
                                   : values.kind == "times" ? "a time and that of its reference"
                                                            : "a speedup";
  return failure(Error{ErrorKind::not_found, "no kernel of the run has " + std::string(missing) +
                                                 ", so there is no plot " + std::string(values.kind)});
}

Expected<std::string> whole_plot(std::string_view plots, const PlotValues& values, const std::string& subtitle,
                                 bool dark) {
  KQ_TRY_VALUE(const producer::Json all, producer::parse_json(plots));
  const producer::Json* plot = all.find("plots") == nullptr ? nullptr : all.find("plots")->find(values.kind);
  const producer::Json* themes = all.find("themes");
  const producer::Json* theme = themes == nullptr ? nullptr : themes->find(dark ? "dark" : "light");
  if (plot == nullptr || plot->find("spec") == nullptr || plot->find("spec")->object() == nullptr || theme == nullptr)
    return our_fault("plots.json has no plot '" + std::string(values.kind) + "' or no theme");
  std::string text = "{\"data\": {\"name\": \"values\", \"values\": " + values.values + "}";
  for (const producer::JsonMember& member : *plot->find("spec")->object()) {
    text += ",\n";
    producer::append_json(member.name, text);
    text += ": " + producer::to_text(member.value);
  }
  const producer::Json* title = plot->find("title");
  return text + ",\n\"config\": " + producer::to_text(*theme) +
         ",\n\"title\": {\"text\": " + producer::to_text(title == nullptr ? producer::Json{} : *title) +
         ", \"subtitle\": " + producer::json_quoted(printable(subtitle)) + "}}\n";
}

}  // namespace kq::tools
