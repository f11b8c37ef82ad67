// Decides when a program that waits for jobs should say why none of them moves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "producer/client/wait.h"

namespace kq::tools {

inline constexpr std::int64_t kStallMs = 5'000;        // without a finished or running job, until the first sentence
inline constexpr std::int64_t kStallAgainMs = 30'000;  // between two questions to the broker after the first

// Jobs move as long as one of them runs or has just finished.
class StallWatch {
 public:
  // Returns whether to ask for the reason now. Each answer true starts the next pause.
  bool is_due(const producer::Tally& tally, std::int64_t now_ms);
  // Returns whether a reason differs from the last one, apart from its numbers, which change while others run.
  bool is_news(const std::string& reason);

 private:
  std::optional<std::size_t> finished_count_;
  std::int64_t moved_ms_ = 0;
  std::optional<std::int64_t> asked_ms_;
  std::string last_reason_;
};

}  // namespace kq::tools
