// A comparison as a table for a terminal, and as JSON.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "producer/client/json.h"
#include "tools/report/compare/compare_runs.h"

namespace kq::tools {

struct CompareTextOptions {
  bool all = false;     // kernels without a change as well
  std::string by = {};  // a property of kCompareGroups whose counts are shown; empty for none
};

std::string compare_table(const Comparison& comparison, const CompareTextOptions& options);

// Returns the object that share/kq.comparison-1.schema.json describes.
producer::Json compare_json(std::span<const Comparison> comparisons, const CompareOptions& options);

// Returns whether a reader has to know of the kernel, because something changed.
bool is_change(Change change);

// Returns the time, or the speedup over the reference, with its noise, and with "~" where the machine was busy; or what
// became of a job that has not passed.
std::string figure_or_outcome(const KernelResult& side, Metric metric);

// "1.25x faster", "1.10x slower", "-".
std::string ratio_text(double ratio);

}  // namespace kq::tools
