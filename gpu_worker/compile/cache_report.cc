#include "gpu_worker/compile/cache_report.h"

#include <ctime>
#include <nlohmann/json.hpp>

namespace kq::worker {
namespace {

using nlohmann::json;

std::string utc(std::int64_t unix_ms) {
  const std::time_t seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32];
  return std::string(text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts));
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

bool is_header(const CacheEntry& entry) {
  return entry.name.starts_with("headers/");
}

std::string list(const std::vector<CacheEntry>& entries, bool as_json) {
  if (as_json) {
    json all = json::array();
    for (const CacheEntry& entry : entries) {
      all.push_back({{"name", entry.name},
                     {"kind", is_header(entry) ? "header" : "build"},
                     {"bytes", entry.bytes},
                     {"files", entry.file_count},
                     {"used_at", utc(entry.used_at_ms)}});
    }
    return all.dump(2) + "\n";
  }
  std::string text;
  for (const CacheEntry& entry : entries)
    text += utc(entry.used_at_ms) + " " + padded(std::to_string(entry.bytes), 12) + "  " + entry.name + "\n";
  return text.empty() ? "the cache is empty\n" : text;
}

std::string size_text(std::uintmax_t bytes) {
  constexpr std::uintmax_t kMiB = 1u << 20;
  return bytes < kMiB ? std::to_string(bytes) + " bytes" : std::to_string((bytes + kMiB / 2) / kMiB) + " MiB";
}

std::string stats(const std::vector<CacheEntry>& entries, bool as_json) {
  std::size_t build_count = 0;
  std::uintmax_t build_bytes = 0;
  std::uintmax_t header_bytes = 0;
  for (const CacheEntry& entry : entries) {
    build_count += is_header(entry) ? 0 : 1;
    (is_header(entry) ? header_bytes : build_bytes) += entry.bytes;
  }
  const std::size_t header_count = entries.size() - build_count;
  const std::string oldest = entries.empty() ? "" : utc(entries.front().used_at_ms);
  if (as_json) {
    return json{{"builds_n", build_count},
                {"build_bytes", build_bytes},
                {"headers_n", header_count},
                {"header_bytes", header_bytes},
                {"oldest_use", oldest}}
               .dump(2) +
           "\n";
  }
  return std::to_string(build_count) + " builds, " + size_text(build_bytes) + "; " + std::to_string(header_count) +
         " precompiled headers, " + size_text(header_bytes) + (oldest.empty() ? "" : "; oldest use " + oldest) + "\n";
}

CacheAnswer verified(const std::vector<std::string>& damaged, bool as_json) {
  if (as_json) return {.text = json{{"damaged", damaged}}.dump(2) + "\n", .is_sound = damaged.empty()};
  std::string text;
  for (const std::string& name : damaged) text += name + " was not as it was put, and is removed\n";
  return {.text = damaged.empty() ? "every entry is as it was put\n" : text, .is_sound = damaged.empty()};
}

}  // namespace

CacheAnswer ask_cache(const BuildCache& cache, CacheVerb verb, std::uintmax_t bytes_max, bool as_json) {
  switch (verb) {
    case CacheVerb::ls:
      return {.text = list(cache.list(), as_json)};
    case CacheVerb::stats:
      return {.text = stats(cache.list(), as_json)};
    case CacheVerb::verify:
      return verified(cache.verify(), as_json);
    case CacheVerb::prune: {
      const std::size_t removed = cache.prune(bytes_max);
      return {.text = as_json ? json{{"removed", removed}}.dump(2) + "\n"
                              : std::to_string(removed) + " entries are removed\n"};
    }
  }
  return {};
}

}  // namespace kq::worker
