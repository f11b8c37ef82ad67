#include "tools/stack/stall_watch.h"

#include <algorithm>

namespace kq::tools {

bool StallWatch::is_due(const producer::Tally& tally, std::int64_t now_ms) {
  const bool moves = tally.running > 0 || finished_count_ != tally.finished || tally.finished == tally.total;
  finished_count_ = tally.finished;
  if (moves) {
    moved_ms_ = now_ms;
    asked_ms_.reset();
    return false;
  }
  if (now_ms - moved_ms_ < kStallMs || (asked_ms_ && now_ms - *asked_ms_ < kStallAgainMs)) return false;
  asked_ms_ = now_ms;
  return true;
}

bool StallWatch::is_news(const std::string& reason) {
  std::string words;
  std::copy_if(reason.begin(), reason.end(), std::back_inserter(words), [](char c) { return c < '0' || c > '9'; });
  if (words == last_reason_) return false;
  last_reason_ = std::move(words);
  return true;
}

}  // namespace kq::tools
