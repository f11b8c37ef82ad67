#include "broker/jobs/result_bounds.h"

#include <cmath>
#include <variant>
#include <vector>

#include "core/codec/codec.h"
#include "core/submission.h"

namespace kq::broker {
namespace {

constexpr std::size_t kCutMarkBytesMax = 1'024;  // the mark that a worker puts between head and tail of a log
constexpr std::size_t kFlagsBytesMax = 4 * kMessageTextMax;

std::size_t bytes_max_of(std::string_view field) {
  if (field == "log") return kLogBytesMax + kCutMarkBytesMax;
  if (field == "flags") return kFlagsBytesMax;
  if (field == "name") return kNameBytesMax;
  return kMessageTextMax;
}

// Cuts the texts of an object. It visits all fields of all types, so that it covers fields that are added later.
struct Cutter {
  bool has_cut = false;

  void operator()(std::string_view field, std::string& text) {
    const std::string_view front = front_of(text, bytes_max_of(field));
    if (front.size() == text.size()) return;
    text.resize(front.size());
    has_cut = true;
  }
  template <class T>
  void operator()(std::string_view field, std::optional<T>& value) {
    if (value) (*this)(field, *value);
  }
  template <class T>
  void operator()(std::string_view field, std::vector<T>& values) {
    for (T& value : values) (*this)(field, value);
  }
  template <class... T>
  void operator()(std::string_view field, std::variant<T...>& value) {
    std::visit([&](auto& alternative) { (*this)(field, alternative); }, value);
  }
  template <class T>
  void operator()(std::string_view, T& value) {
    if constexpr (requires { fields(*this, value); })
      fields(*this, value);  // otherwise the value is a number or an enumerator
  }
  template <class T>
  void cut_list(std::vector<T>& values, std::size_t size_max) {
    if (values.size() <= size_max) return;
    values.erase(values.begin() + static_cast<std::ptrdiff_t>(size_max), values.end());
    has_cut = true;
  }
};

std::optional<std::string> validation_error(const DeviceInfo& device) {
  for (const auto& [kind, name] :
       {std::pair("model", &device.model), {"uuid", &device.uuid}, {"architecture", &device.arch}}) {
    if (name->empty()) continue;
    if (const auto wrong = name_error(*name)) return "its device's " + std::string(kind) + " " + *wrong;
  }
  return std::nullopt;
}

bool is_time(double ns) {
  return std::isfinite(ns) && ns >= 0;
}

std::optional<std::string> validation_error(const Samples& samples) {
  for (const auto* side : {&samples.submission_ns, &samples.reference_ns}) {
    if (side->size() > kSamplesMax)
      return std::to_string(side->size()) + " samples, at most " + std::to_string(kSamplesMax) + " are allowed";
  }
  return std::nullopt;
}

std::optional<std::string> validation_error(const Verdict& verdict) {
  const Measurement* measurement = measurement_of(verdict);
  if (measurement != nullptr &&
      (!is_time(measurement->submission.median_ns) || !is_time(measurement->reference.median_ns))) {
    return "a median that is no time";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> validation_error(const Result& result) {
  if (auto wrong = validation_error(result.device)) return wrong;
  if (auto wrong = validation_error(result.samples)) return wrong;
  if (auto wrong = validation_error(result.verdict)) return wrong;
  if (result.cases.size() > kWorkloadsMax)
    return std::to_string(result.cases.size()) + " workloads, at most " + std::to_string(kWorkloadsMax) +
           " are allowed";
  for (const CaseResult& one : result.cases) {
    if (auto wrong = validation_error(one.samples)) return wrong;
    if (auto wrong = validation_error(one.verdict)) return wrong;
  }
  // This covers every list, also of fields that are added later.
  if (const std::size_t items = message_size(result).items; items > kResultItemsMax)
    return std::to_string(items) + " items, at most " + std::to_string(kResultItemsMax) + " are allowed";
  return std::nullopt;
}

bool cut_to_limits(Result& result) {
  Cutter cutter;
  if (result.conditions && result.conditions->foreign)
    cutter.cut_list(*result.conditions->foreign, kForeignProcessesMax);
  if (result.profile) {
    cutter.cut_list(result.profile->kernels, kProfiledKernelsMax);
    for (KernelProfile& kernel : result.profile->kernels) cutter.cut_list(kernel.metrics, kProfileMetricsMax);
  }
  if (result.extensions) cutter.cut_list(result.extensions->failed, kFailedExtensionsMax);
  if (result.kernels_ran) cutter.cut_list(result.kernels_ran->kernels, kRanKernelsMax);
  cutter.cut_list(result.problem_warnings, kProblemWarningsMax);
  cutter.cut_list(result.findings, kReviewFindingsMax);
  fields(cutter, result);
  return cutter.has_cut;
}

std::string_view front_of(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  constexpr int kContinuationBytesMax = 3;  // bytes of a UTF-8 character after its first
  std::size_t end = bytes_max;
  for (int i = 0; i < kContinuationBytesMax && end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80; ++i)
    --end;
  return text.substr(0, end);
}

}  // namespace kq::broker
