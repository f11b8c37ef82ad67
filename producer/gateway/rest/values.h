// Short forms for the JSON of kq's own REST.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/records.h"
#include "producer/client/json.h"
#include "producer/gateway/http.h"
#include "producer/gateway/job_id.h"

namespace kq::gateway {

// An object whose members are added one after the other.
class Object {
 public:
  Object& add(std::string_view name, producer::Json value) {
    members_.emplace_back(name, std::move(value));
    return *this;
  }
  Object& add(std::string_view name, std::string value) { return add(name, producer::Json{std::move(value)}); }
  Object& add(std::string_view name, const char* value) { return add(name, std::string(value)); }
  Object& add(std::string_view name, std::string_view value) { return add(name, std::string(value)); }
  Object& add(std::string_view name, bool value) { return add(name, producer::Json{value}); }
  Object& add(std::string_view name, double value) { return add(name, producer::Json{value}); }
  template <std::integral Number>
  Object& add(std::string_view name, Number value) {
    return add(name, producer::Json{static_cast<std::int64_t>(value)});
  }

  producer::Json json() { return producer::Json{std::move(members_)}; }

 private:
  producer::JsonObject members_;
};

// Returns a Unix time as "2026-11-21T18:00:30Z", or null for 0.
producer::Json time_json(std::int64_t unix_ms);

// Returns what is known of a job without its result: {"id", "job", "run", "label", "state", "verdict", ...}.
Object job_object(const JobId& id, const RunRow& row);

// Reads a number of a query. Returns nothing where it is malformed or outside the bounds.
std::optional<std::int64_t> whole_number(std::string_view text, std::int64_t min, std::int64_t max);

// Returns the rows of one page, by the parameter `limit` of the query.
Expected<std::uint32_t> page_limit(const Request& request);

}  // namespace kq::gateway
