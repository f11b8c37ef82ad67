#include "producer/client/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>
#include <cmath>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "core/verdict.h"
#include "producer/client/sentences.h"

namespace kq::producer {
namespace {

constexpr std::int64_t kLineEveryMs = 10'000;
constexpr std::size_t kLineEveryPercent = 5;
constexpr std::int64_t kUnservedForMs = 2'000;  // a worker may be starting, so an earlier report would be premature

std::size_t percent(const Tally& tally) {
  return tally.total == 0 ? 100 : tally.finished * 100 / tally.total;
}

std::string padded(std::size_t number, std::size_t width) {
  const std::string digits = std::to_string(number);
  return std::string(width - std::min(width, digits.size()), ' ') + digits;
}

// "02:48", "1:02:48"
std::string clock_text(std::int64_t seconds) {
  char text[32];
  if (seconds >= 3600) {
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", static_cast<long long>(seconds / 3600),
                  static_cast<long long>(seconds / 60 % 60), static_cast<long long>(seconds % 60));
  } else {
    std::snprintf(text, sizeof text, "%02lld:%02lld", static_cast<long long>(seconds / 60),
                  static_cast<long long>(seconds % 60));
  }
  return text;
}

std::string rate_text(const Tally& tally, std::int64_t elapsed_ms, std::size_t finished_before) {
  if (tally.finished <= finished_before || elapsed_ms <= 0) return "";
  const double per_second =
      static_cast<double>(tally.finished - finished_before) * 1000 / static_cast<double>(elapsed_ms);
  char text[32];
  if (per_second >= 1) {
    std::snprintf(text, sizeof text, " %.1f/s", per_second);
  } else {
    std::snprintf(text, sizeof text, " %.1f s/job", 1 / per_second);
  }
  if (tally.finished == tally.total) return text;
  const auto left = static_cast<double>(tally.total - tally.finished);
  return text + (" eta " + clock_text(std::llround(left / per_second)));
}

}  // namespace

std::string progress_text(const Tally& tally, std::int64_t elapsed_ms, std::size_t finished_before) {
  const std::string total = std::to_string(tally.total);
  return "[" + padded(tally.finished, total.size()) + "/" + total + "] " + padded(percent(tally), 3) + "% run " +
         std::to_string(tally.running) + " q " + std::to_string(tally.queued) + " pass " +
         std::to_string(tally.passed()) + " fail " + std::to_string(tally.failed()) + " infra " +
         std::to_string(tally.abandoned()) + rate_text(tally, elapsed_ms, finished_before);
}

std::string build_text(const Tally& tally, std::int64_t unix_ms) {
  if (tally.building == 0 || unix_ms - tally.build_started_ms < kLongBuildMs) return "";
  return "building " + std::to_string(tally.building) + " for " + clock_text((unix_ms - tally.build_started_ms) / 1000);
}

std::string unserved_text(const Tally& tally) {
  std::string text;
  for (const auto& [missing, count] : tally.unserved) {
    text += (text.empty() ? "" : "; ") + counted(count, "job") + (count == 1 ? " waits" : " wait") +
            (missing == kPausedText            ? ": the queue, or the submitter, is paused; kq ctl status says which"
             : missing == kDrainingText        ? ": every worker that can run it is draining"
             : missing == "any device"         ? ": no worker is connected"
             : missing.starts_with("a worker") ? ": there is no" + missing.substr(1)
                                               : ": no worker has " + missing);
  }
  return text;
}

std::string summary_text(const Tally& tally) {
  std::string text = counted(tally.total, "job") + ":";
  std::string_view comma = " ";
  const auto add = [&](std::size_t count, std::string_view what) {
    if (count == 0) return;
    text += std::string(comma) + std::to_string(count) + " " + std::string(what);
    comma = ", ";
  };
  std::map<std::string, std::size_t> rest = tally.by_verdict;
  for (const VerdictRow& row : kVerdicts) {
    const auto found = rest.find(std::string(to_string(row.name)));
    if (found == rest.end()) continue;
    add(found->second, found->first);
    rest.erase(found);
  }
  for (const auto& [verdict, count] : rest) add(count, verdict);  // verdicts that only a newer broker knows
  add(tally.running, "running");
  add(tally.queued, "queued");
  return text;
}

StatusLineOptions stderr_status_line() {
  StatusLineOptions options;
  options.write = [](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stderr); };
  const char* terminal = std::getenv("TERM");
  options.in_place = isatty(STDERR_FILENO) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
  winsize size{};
  if (options.in_place && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    options.columns = size.ws_col;
  return options;
}

StatusLine::StatusLine(StatusLineOptions options, std::int64_t start_ms)
    : options_(std::move(options)), start_ms_(start_ms), last_line_ms_(start_ms), served_ms_(start_ms) {}

StatusLine::~StatusLine() {
  end();
}

void StatusLine::update(const Tally& tally, std::int64_t now_ms) {
  note_unserved(tally, now_ms);
  if (!finished_before_) finished_before_ = tally.finished;
  std::string text = progress_text(tally, now_ms - start_ms_, *finished_before_);
  if (const std::string builds = build_text(tally, options_.unix_ms()); !builds.empty()) text += ", " + builds;
  if (options_.in_place) {
    // The line uses one column less than the terminal has, because some terminals wrap after the last column.
    options_.write("\r" + text.substr(0, options_.columns - 1) + "\x1b[K");
    is_line_open_ = true;
    return;
  }
  const std::size_t now_percent = percent(tally);
  const bool advanced = now_percent >= last_percent_ + kLineEveryPercent || (now_percent == 100 && last_percent_ < 100);
  if (!advanced && now_ms - last_line_ms_ < kLineEveryMs) return;
  last_percent_ = now_percent;
  last_line_ms_ = now_ms;
  options_.write(text + "\n");
}

void StatusLine::end() {
  if (is_line_open_) options_.write("\n");
  is_line_open_ = false;
}

void StatusLine::note_unserved(const Tally& tally, std::int64_t now_ms) {
  if (tally.unserved.empty()) {
    served_ms_ = now_ms;
    noted_.clear();
    return;
  }
  if (now_ms - served_ms_ < kUnservedForMs) return;
  // The sentence is repeated only when other requirements are missing, not when a count changes.
  std::vector<std::string> missing;
  for (const auto& [what, count] : tally.unserved) missing.push_back(what);
  if (missing == noted_) return;
  noted_ = std::move(missing);
  options_.write((is_line_open_ ? "\r\x1b[K" : "") + unserved_text(tally) + "\n");
  is_line_open_ = false;
}

}  // namespace kq::producer
