#include "tools/ctl/pauses.h"

#include <algorithm>
#include <string_view>

#include "producer/client/sentences.h"
#include "tools/cli/text.h"
#include "tools/ctl/listing.h"

namespace kq::tools {
namespace {

// Returns the value of a metric without labels, or 0 where the broker does not have it.
double value_of(const StatsReply& stats, std::string_view name) {
  const auto found = std::ranges::find(stats.metrics, name, &Metric::name);
  return found == stats.metrics.end() ? 0 : found->value;
}

}  // namespace

bool Pauses::may_have(const std::string& submitter) const {
  return count > names.size() || std::ranges::find(names, submitter) != names.end();
}

Pauses pauses_of(const StatsReply& stats) {
  Pauses pauses{.is_queue_paused = value_of(stats, "kq_queue_paused") > 0,
                .count = static_cast<std::uint64_t>(value_of(stats, "kq_submitters_paused"))};
  for (const Metric& metric : stats.metrics) {
    const auto name = metric.labels.find("submitter");
    if (metric.name == "kq_submitter_paused" && name != metric.labels.end()) pauses.names.push_back(name->second);
  }
  return pauses;
}

std::string pauses_text(const Pauses& pauses) {
  std::string text = producer::counted(pauses.count, "submitter") + (pauses.count == 1 ? " is" : " are") + " paused";
  if (pauses.names.empty()) return text;
  text += ": " + printable(joined(pauses.names));
  if (pauses.count > pauses.names.size())
    text += " and " + std::to_string(pauses.count - pauses.names.size()) + " more";
  return text;
}

}  // namespace kq::tools
