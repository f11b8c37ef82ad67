#include "producer/gateway/rest/values.h"

#include <charconv>

#include "core/limits.h"
#include "producer/client/when.h"

namespace kq::gateway {

using producer::Json;

Json time_json(std::int64_t unix_ms) {
  return unix_ms == 0 ? Json{nullptr} : Json{producer::when_text(unix_ms)};
}

Object job_object(const JobId& id, const RunRow& row) {
  Object job;
  job.add("id", id.text()).add("job", id.seq).add("run", id.run).add("label", id.label);
  job.add("state", to_string(row.job.state));
  if (row.result) job.add("verdict", to_string(name_of(row.result->verdict)));
  job.add("attempt", row.job.attempt).add("failures", row.job.failures);
  job.add("submitted_at", time_json(row.job.submitted_at_ms));
  job.add("leased_at", time_json(row.job.leased_at_ms));
  job.add("finished_at", time_json(row.job.finished_at_ms));
  if (!row.job.last_error.empty()) job.add("last_error", row.job.last_error);
  return job;
}

std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t min, std::int64_t max) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < min || number > max) return std::nullopt;
  return number;
}

Expected<std::uint32_t> page_limit(const Request& request) {
  const auto limit = whole_number(request.query_value("limit").value_or(std::to_string(kQueryRowsMax)), 1,
                                  static_cast<std::int64_t>(kQueryRowsMax));
  if (!limit) return bad_input("limit must be a whole number from 1 to " + std::to_string(kQueryRowsMax));
  return static_cast<std::uint32_t>(*limit);
}

}  // namespace kq::gateway
