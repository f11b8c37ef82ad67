// The facts of kq-top as lines of text. Nothing here knows a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.h"
#include "tools/top/facts.h"
#include "tools/top/lines.h"

namespace kq::tools {

// The order of the workers: those that need attention first, by name, those with most leases first, or those with the
// oldest lease first.
enum class WorkerOrder { attention, name, leases, oldest };
constexpr std::array<std::string_view, 4> enum_names(WorkerOrder) {
  return {"attention", "name", "leases", "oldest"};
}

struct ViewOptions {
  WorkerOrder order = WorkerOrder::attention;
  // Shows only workers, runs and failures whose name, model, label or run has this text, without regard to the case of
  // ASCII letters.
  std::string filter = {};
  std::size_t width = 0;  // columns of a line; 0: any
  bool is_short = false;  // whether lists but that of the workers show their first rows only
};

inline constexpr std::size_t kShortListMax = 6;   // rows of a list that is short
inline constexpr std::size_t kWorkerJobsMax = 8;  // jobs of one worker

// Returns the counts of the queue and of the workers.
std::vector<Line> summary_lines(const TopFacts& facts, const ViewOptions& options);

// Returns the lists: lanes of the queue, runs, failures, and last the workers, which may be many.
std::vector<Line> list_lines(const TopFacts& facts, const ViewOptions& options);

}  // namespace kq::tools
