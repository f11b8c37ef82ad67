#include "gpu_worker/compile/extension_manifest.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "gpu_worker/compile/child.h"
#include "gpu_worker/compile/outcome.h"
#include "gpu_worker/machine/limited_json.h"
#include "gpu_worker/machine/scratch.h"

namespace kq::worker {
namespace {

using nlohmann::json;

constexpr int kDepthMax = 4;
constexpr std::size_t kStatusBytesMax = 32;

std::string message_of(const Verdict& verdict) {
  const Evidence* evidence = evidence_of(verdict);
  return evidence == nullptr ? std::string() : evidence->message;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Returns the compilers' own output in a message, which follows its first line, or the whole message if it is one line.
std::string output_in(const std::string& message) {
  const std::size_t end = message.find('\n');
  return end == std::string::npos ? message : message.substr(end + 1);
}

std::string text_at(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? shortened(found->get_ref<const std::string&>()) : std::string();
}

const char* text_of(CallFailure failure) {
  switch (failure) {
    case CallFailure::build:
      return "build";
    case CallFailure::load:
      return "load";
    case CallFailure::arguments:
      return "arguments";
  }
  return "build";
}

// Begins the key of a call that raised, so that it is no key of a recorded call, whatever the tracing child says.
constexpr std::string_view kRaised = "raised ";

}  // namespace

std::vector<RaisedCall> parse_raised(std::string_view text) {
  std::vector<RaisedCall> calls;
  const json list = parse_limited(text, kDepthMax);
  if (!list.is_array()) return calls;
  for (const json& entry : list) {
    if (calls.size() == kRaisedCallsMax) break;
    if (!entry.is_object()) continue;
    RaisedCall call{.key = text_at(entry, "key"), .name = text_at(entry, "name"), .error = text_at(entry, "error")};
    if (!call.key.empty() && !call.error.empty()) calls.push_back(std::move(call));
  }
  return calls;
}

Verdict verdict_of(const RaisedCall& call) {
  return build_ended(VerdictName::build_failed, {}, call.error);
}

bool ExtensionManifest::knows(const ExtensionCall& call) const {
  return names_.contains(call.key) || similar_.contains(call.similar_key);
}

void ExtensionManifest::add(const ExtensionCall& call) {
  ++call_count_;
  names_[call.key] = call.name;
  similar_.try_emplace(call.similar_key, call.key);
}

std::string ExtensionManifest::add_module(const ExtensionCall& call) {
  std::string file = "kq_extension_" + std::to_string(call_count_) + ".so";
  add(call);
  modules_[call.key] = file;
  return file;
}

void ExtensionManifest::add_failed(const ExtensionCall& call, CallFailure failure, Verdict verdict) {
  const std::size_t number = call_count_ + raised_count_;
  add(call);
  failed_.insert_or_assign(
      call.key, Failed{.number = number, .name = call.name, .failure = failure, .verdict = std::move(verdict)});
}

void ExtensionManifest::add_raised(const RaisedCall& call) {
  std::string key = std::string(kRaised) + call.key;
  if (raised_count_ == kRaisedCallsMax || failed_.contains(key)) return;
  const std::size_t number = call_count_ + raised_count_++;
  failed_.emplace(
      std::move(key),
      Failed{.number = number, .name = call.name, .failure = CallFailure::arguments, .verdict = verdict_of(call)});
}

const Verdict* ExtensionManifest::failure_of(const std::string& key) const {
  const auto found = failed_.find(key);
  return found == failed_.end() ? nullptr : &found->second.verdict;
}

Extensions ExtensionManifest::summary(bool fell_back) const {
  std::vector<const Failed*> failed;
  for (const auto& [key, call] : failed_) failed.push_back(&call);
  std::ranges::sort(failed, {}, &Failed::number);
  Extensions summary{.calls = static_cast<std::uint32_t>(modules_.size() + failed_.size()),
                     .compiled = static_cast<std::uint32_t>(modules_.size()),
                     .failed = {},
                     .fell_back = fell_back && !failed_.empty()};
  if (failed.size() > kFailedExtensionsMax) failed.resize(kFailedExtensionsMax);
  for (const Failed* call : failed)
    summary.failed.push_back({.name = shortened(call->name), .error = first_line(message_of(call->verdict))});
  return summary;
}

std::string ExtensionManifest::text() const {
  json failed = json::object();
  for (const auto& [key, call] : failed_) {
    const std::string message = message_of(call.verdict);
    failed[key] = {{"kind", text_of(call.failure)},
                   {"number", call.number},
                   {"name", call.name},
                   {"error", first_line(message)},
                   {"text", output_in(message)}};
  }
  const json manifest{{"modules", modules_}, {"names", names_}, {"similar", similar_}, {"failed", failed}};
  return manifest.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<CallFailure> failure_in(const std::string& dir) {
  const auto status = read_child_file(dir + "/status", kStatusBytesMax);
  if (status && *status == "failed\n") return CallFailure::build;
  if (status && *status == "not_loadable\n") return CallFailure::load;
  return std::nullopt;
}

std::optional<Extensions> extensions_in(const std::string& dir) {
  const auto text = read_child_file(dir + "/" + std::string(kManifest), kManifestBytesMax);
  if (!text) return std::nullopt;
  const json manifest = parse_limited(*text, kDepthMax);
  if (!manifest.is_object() || !manifest.contains("modules") || !manifest["modules"].is_object()) return std::nullopt;
  std::vector<std::pair<std::uint64_t, FailedExtension>> failed;
  if (const auto list = manifest.find("failed"); list != manifest.end() && list->is_object()) {
    for (const json& call : *list) {
      if (!call.is_object() || !call.contains("number") || !call["number"].is_number_unsigned()) return std::nullopt;
      failed.emplace_back(call["number"].get<std::uint64_t>(),
                          FailedExtension{.name = text_at(call, "name"), .error = text_at(call, "error")});
    }
  }
  std::ranges::sort(failed, {}, [](const auto& call) { return call.first; });
  const auto compiled = static_cast<std::uint32_t>(manifest["modules"].size());
  Extensions extensions{.calls = compiled + static_cast<std::uint32_t>(failed.size()),
                        .compiled = compiled,
                        .failed = {},
                        .fell_back = !failed.empty()};
  if (extensions.calls == 0) return std::nullopt;
  for (auto& [number, call] : failed) {
    if (extensions.failed.size() < kFailedExtensionsMax) extensions.failed.push_back(std::move(call));
  }
  return extensions;
}

}  // namespace kq::worker
