#include "producer/gateway/evaluation/answer.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <unistd.h>

#include <arpa/inet.h>
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <memory>
#include <span>

#include "producer/gateway/evaluation/job.h"

namespace kq::gateway::evaluation {
namespace {

using producer::Json;
using producer::JsonArray;
using producer::JsonObject;

constexpr double kNsPerMs = 1e6;

Json text(std::string_view value) {
  return Json{std::string(value)};
}

// The seven figures that clients read, in milliseconds.
struct Figures {
  double mean = 0, std = 0, min = 0, max = 0, median = 0, percentile_95 = 0, percentile_99 = 0;
};

// Returns a percentile of sorted samples with linear interpolation, as numpy computes it.
double percentile(std::span<const std::int64_t> sorted, double fraction) {
  const double at = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double low = static_cast<double>(sorted[below]), high = static_cast<double>(sorted[above]);
  return low + (at - static_cast<double>(below)) * (high - low);
}

Figures figures_of(std::vector<std::int64_t> samples_ns, const Statistics& statistics) {
  const auto n = static_cast<double>(statistics.sample_count);
  // Clients expect the standard deviation of the population, kq computes that of a sample.
  const double population = n > 1 ? std::sqrt((n - 1) / n) : 1;
  Figures figures{.mean = statistics.mean_ns / kNsPerMs,
                  .std = statistics.std_ns * population / kNsPerMs,
                  .min = statistics.min_ns / kNsPerMs,
                  .max = statistics.max_ns / kNsPerMs,
                  .median = statistics.median_ns / kNsPerMs,
                  .percentile_95 = statistics.p95_ns / kNsPerMs,
                  .percentile_99 = statistics.p99_ns / kNsPerMs};
  if (samples_ns.empty()) return figures;
  std::ranges::sort(samples_ns);
  figures.percentile_95 = percentile(samples_ns, 0.95) / kNsPerMs;
  figures.percentile_99 = percentile(samples_ns, 0.99) / kNsPerMs;
  return figures;
}

Json figures_json(const Figures& figures) {
  JsonObject members;
  members.emplace_back("mean", Json{figures.mean});
  members.emplace_back("std", Json{figures.std});
  members.emplace_back("min", Json{figures.min});
  members.emplace_back("max", Json{figures.max});
  members.emplace_back("median", Json{figures.median});
  members.emplace_back("percentile_95", Json{figures.percentile_95});
  members.emplace_back("percentile_99", Json{figures.percentile_99});
  return Json{std::move(members)};
}

Json samples_json(const std::vector<std::int64_t>& samples_ns) {
  JsonArray array;
  for (const std::int64_t sample : samples_ns) array.push_back(Json{static_cast<double>(sample) / kNsPerMs});
  return Json{std::move(array)};
}

std::string tag_of(const RunRow& row, std::string_view name) {
  const auto& tags = row.entry.submission.tags;
  const auto found = tags.find(std::string(name));
  return found == tags.end() ? "" : found->second;
}
bool is_compared(const RunRow& row) {
  return tag_of(row, kRequestTag) == "compare";
}

// Returns the sentences of an evidence as one text.
std::string words_of(VerdictName name, const Evidence& evidence) {
  std::string words = evidence.message.empty() ? std::string(to_string(name)) : evidence.message;
  if (!evidence.place.empty() && words.find(evidence.place) == std::string::npos) words = evidence.place + ": " + words;
  if (!evidence.hint.empty()) words += "\n" + evidence.hint;
  return words;
}

// Returns whether the kernel had been built and loaded when its job ended so.
bool was_compiled(VerdictName name, const Evidence& evidence, bool compares) {
  switch (name) {
    case VerdictName::build_failed:
    case VerdictName::load_failed:
      return false;
    case VerdictName::problem_invalid:  // a kernel that is its own reference fails as that
      return compares || evidence.stage == Stage::run || evidence.stage == Stage::judge;
    default:
      return evidence.stage != Stage::guard && evidence.stage != Stage::build && evidence.stage != Stage::load;
  }
}

// A metric's group and key: "speed_of_light.sm_throughput_pct".
void add_metric(JsonObject& groups, const ProfileMetric& metric) {
  const std::size_t dot = std::min(metric.name.find('.'), metric.name.size());
  const std::string group = metric.name.substr(0, dot);
  const std::string key = metric.name.substr(std::min(dot + 1, metric.name.size()));
  auto found = std::ranges::find(groups, group, &producer::JsonMember::name);
  if (found == groups.end()) found = groups.insert(groups.end(), {group, Json{JsonObject{}}});
  std::get<JsonObject>(found->value.value).emplace_back(key, Json{metric.value});
}

// Returns the figures of the kernel that took longest, and those of all kernels where there are several.
Json device_metrics(const Profile& profile) {
  const auto duration = [](const KernelProfile& kernel) {
    const auto found = std::ranges::find(kernel.metrics, "timing_metrics.gpu_time_duration_sum", &ProfileMetric::name);
    return found == kernel.metrics.end() ? 0.0 : found->value;
  };
  const auto groups_of = [](const KernelProfile& kernel) {
    JsonObject groups;
    for (const ProfileMetric& metric : kernel.metrics) add_metric(groups, metric);
    return groups;
  };
  JsonObject groups = groups_of(*std::ranges::max_element(profile.kernels, {}, duration));
  if (profile.kernels.size() > 1) {
    JsonArray kernels;
    for (const KernelProfile& kernel : profile.kernels) {
      JsonObject one = groups_of(kernel);
      one.insert(one.begin(), {"kernel_name", text(kernel.kernel)});
      kernels.push_back(Json{std::move(one)});
    }
    groups.emplace_back("kernels", Json{std::move(kernels)});
  }
  return Json{std::move(groups)};
}

Json metadata_json(const RunRow& row, const Result& result) {
  JsonObject metadata;
  metadata.emplace_back("gpu_id", Json{std::int64_t{0}});
  if (!result.device.uuid.empty()) metadata.emplace_back("device_uuid", text(result.device.uuid));
  metadata.emplace_back("device", text(result.device.model));
  if (result.profile && !result.profile->kernels.empty()) {
    Json metrics = device_metrics(*result.profile);
    if (is_compared(row)) {
      JsonObject both;
      both.emplace_back("custom_device_metrics", std::move(metrics));
      metrics = Json{std::move(both)};
    }
    metadata.emplace_back("device_metrics", std::move(metrics));
  }
  if (const std::string name = tag_of(row, kKernelNameTag); !name.empty())
    metadata.emplace_back("kernel_name", text(name));
  metadata.emplace_back("kernel_type", text(to_string(row.entry.submission.backend)));
  if (const std::string type = gpu_type_of(row); !type.empty()) metadata.emplace_back("gpu_type", text(type));
  if (!result.software.cuda.empty()) metadata.emplace_back("cuda_version", text(result.software.cuda));
  return Json{std::move(metadata)};
}

void add_measurement(JsonObject& executed, const Result& result, const Measurement& measured) {
  executed.emplace_back("runtime_stats", figures_json(figures_of(result.samples.submission_ns, measured.submission)));
  executed.emplace_back("trials", Json{std::int64_t{measured.submission.sample_count}});
  if (!result.samples.submission_ns.empty())
    executed.emplace_back("runtime_samples", samples_json(result.samples.submission_ns));
}

void add_failure(JsonObject& executed, VerdictName name, const Evidence& evidence, bool compiled, bool compares) {
  constexpr std::string_view kReference = "the reference: ";
  std::string words = words_of(name, evidence);
  // A single kernel is its own reference.
  if (!compares && words.starts_with(kReference)) words.erase(0, kReference.size());
  if (!compiled) executed.emplace_back("compilation_error", text(words));
  if (compiled || name == VerdictName::rejected) executed.emplace_back("validation_error", text(words));
  if (name == VerdictName::rejected && evidence.reason == "stream") {
    JsonObject violation;
    violation.emplace_back("rule", text(evidence.rule));
    violation.emplace_back("place", text(evidence.place));
    violation.emplace_back("message", text(evidence.message));
    executed.emplace_back("stream_violation", Json{std::move(violation)});
  }
}

}  // namespace

Pod this_pod() {
  Pod pod{"localhost", "127.0.0.1"};
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) == 0) pod.name = name.data();
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0) return pod;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> held(found, &::freeifaddrs);
  for (const ifaddrs* one = found; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET || (one->ifa_flags & IFF_LOOPBACK) != 0)
      continue;
    std::array<char, INET_ADDRSTRLEN> address{};
    const auto* ipv4 = reinterpret_cast<const sockaddr_in*>(one->ifa_addr);
    if (::inet_ntop(AF_INET, &ipv4->sin_addr, address.data(), address.size()) == nullptr) continue;
    pod.ip = address.data();
    break;
  }
  return pod;
}

std::string gpu_type_of(std::string_view device_model) {
  for (const std::string_view type : {"A100", "H100", "H200"}) {
    if (device_model.find(type) == std::string_view::npos) continue;
    std::string lower(type);
    lower[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(lower[0])));
    return lower;
  }
  return "";
}

std::string gpu_type_of(const RunRow& row) {
  const std::string named = tag_of(row, kGpuTypeTag);
  return named.empty() ? gpu_type_of(row.result->device.model) : named;
}

std::optional<std::string> failure_of(const RunRow& row) {
  const VerdictName name = name_of(row.result->verdict);
  const Evidence* evidence = evidence_of(row.result->verdict);
  switch (name) {
    case VerdictName::timed_out:
      return "Job timed out after " + tag_of(row, kTimeoutTag) + " seconds: " + words_of(name, *evidence);
    case VerdictName::compiled_only:
    case VerdictName::too_large:
    case VerdictName::unsupported_here:
    case VerdictName::cancelled:
    case VerdictName::expired:
    case VerdictName::abandoned:
      return std::string(to_string(name)) + ": " + words_of(name, *evidence);
    default:
      return std::nullopt;
  }
}

Json outcome_body(const std::string& job_id, const RunRow& row, const Pod& pod, const std::vector<std::string>& notes) {
  const Result& result = *row.result;
  const Measurement* measured = measurement_of(result.verdict);
  const VerdictName name = name_of(result.verdict);
  const Evidence* evidence = evidence_of(result.verdict);
  const bool compiled = measured != nullptr || was_compiled(name, *evidence, is_compared(row));

  JsonObject executed;
  executed.emplace_back("compiled", Json{compiled});
  executed.emplace_back("correctness", Json{measured != nullptr});
  executed.emplace_back("runtime", Json{measured == nullptr ? 0.0 : measured->submission.mean_ns / kNsPerMs});
  executed.emplace_back("metadata", metadata_json(row, result));
  if (measured != nullptr) {
    add_measurement(executed, result, *measured);
    if (is_compared(row)) executed.emplace_back("speedup", Json{speedup(*measured)});
    if (result.profile && !result.profile->message.empty())
      executed.emplace_back("profiling_error", text(result.profile->message));
  } else {
    add_failure(executed, name, *evidence, compiled, is_compared(row));
  }
  executed.emplace_back("verdict", text(to_string(name)));
  if (name == VerdictName::suspect) executed.emplace_back("suspicion", text(words_of(name, *evidence)));

  JsonObject body;
  body.emplace_back("job_id", text(job_id));
  body.emplace_back("kernel_exec_result", Json{std::move(executed)});
  if (is_compared(row)) {
    const Statistics none;
    body.emplace_back("ref_runtime", figures_json(figures_of(result.samples.reference_ns,
                                                             measured == nullptr ? none : measured->reference)));
  }
  body.emplace_back("pod_name", text(result.host.name.empty() ? pod.name : result.host.name));
  body.emplace_back("pod_ip", text(pod.ip));
  body.emplace_back("status", text("success"));
  if (const std::string type = gpu_type_of(row); !type.empty()) body.emplace_back("gpu_type", text(type));
  if (!notes.empty()) {
    JsonArray array;
    for (const std::string& note : notes) array.push_back(text(note));
    body.emplace_back("notes", Json{std::move(array)});
  }
  return Json{std::move(body)};
}

Json error_body(const std::string& error, const std::string& job_id, const Pod& pod) {
  JsonObject body;
  body.emplace_back("kernel_exec_result", Json{JsonObject{}});
  body.emplace_back("ref_runtime", Json{JsonObject{}});
  body.emplace_back("pod_name", text(pod.name));
  body.emplace_back("pod_ip", text(pod.ip));
  body.emplace_back("status", text("error"));
  body.emplace_back("error", text(error));
  body.emplace_back("compilation_method", text("cupy"));  // the word that clients of the original may look for
  if (!job_id.empty()) body.emplace_back("job_id", text(job_id));
  return Json{std::move(body)};
}

Json client_error_body(const BodyError& error) {
  JsonObject body;
  if (error.refusal) {
    body.emplace_back("error", text(error.refusal->error));
    body.emplace_back("details", Json{error.refusal->details});
  } else {
    body.emplace_back("error", text("Invalid request format"));
    JsonArray errors;
    for (const FieldError& one : error.fields) {
      JsonObject entry;
      entry.emplace_back("field", text(one.field));
      entry.emplace_back("message", text(one.message));
      entry.emplace_back("type", text(one.type));
      errors.push_back(Json{std::move(entry)});
    }
    body.emplace_back("validation_errors", Json{std::move(errors)});
  }
  body.emplace_back("status", text("client_error"));
  return Json{std::move(body)};
}

Json not_found_body(const std::string& error) {
  JsonObject body;
  body.emplace_back("error", text(error));
  body.emplace_back("status", text("error"));
  return Json{std::move(body)};
}

std::string_view status_of(const RunRow& row) {
  if (!row.result) return "submitted";
  return failure_of(row) ? "failed" : "completed";
}

Json job_body(const std::string& job_id, const RunRow& row, const Pod& pod) {
  JsonObject body;
  body.emplace_back("job_id", text(job_id));
  body.emplace_back("status", text(status_of(row)));
  body.emplace_back("created_at", Json{static_cast<double>(row.job.submitted_at_ms) / 1e3});
  body.emplace_back("state", text(to_string(row.job.state)));
  if (row.result) {
    const auto failure = failure_of(row);
    body.emplace_back("error", failure ? text(*failure) : Json{nullptr});
    if (!failure) body.emplace_back("result", outcome_body(job_id, row, pod, {}));
  } else {
    body.emplace_back("error", Json{nullptr});
  }
  return Json{std::move(body)};
}

}  // namespace kq::gateway::evaluation
