// What a person does in the live screen: the sort, the filter, the scroll, and the screen that follows from them.
//
// A Session is pure: press() changes it, and screen_lines() makes the lines of a screen of a given size.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tools/top/view.h"

namespace kq::tools {

inline constexpr std::size_t kFilterBytesMax = 100;

// Key::none is the absence of a key, and Key::closed the end of the terminal.
enum class Key { none, character, up, down, page_up, page_down, home, end, enter, escape, backspace, resize, closed };

struct Press {
  Key key = Key::none;
  std::string character = {};  // of Key::character, in UTF-8
};

struct ScreenSize {
  std::size_t width = 80;
  std::size_t height = 24;

  friend bool operator==(const ScreenSize&, const ScreenSize&) = default;
};

// What is known of the broker at the time of a screen.
struct Snapshot {
  std::shared_ptr<const TopFacts> facts = nullptr;  // of the last successful look, if there was one
  std::optional<Error> error = std::nullopt;        // of the last look; nothing where it succeeded
  std::int64_t silent_ms = 0;                       // the time since the last answer; 0 while the broker answers
};

class Session {
 public:
  Session(std::string url, std::int64_t interval_ms) : url_(std::move(url)), interval_ms_(interval_ms) {}

  void press(const Press& press);
  bool is_over() const { return is_over_; }      // whether the person has left
  bool is_paused() const { return is_paused_; }  // whether the person wants no new looks
  const ViewOptions& options() const { return options_; }

  // Returns the lines of the screen, at most as many as it has rows. The scroll stays within the lines that there are.
  std::vector<Line> screen_lines(const Snapshot& snapshot, ScreenSize size);

 private:
  void type(const Press& press);
  void command(const std::string& character);
  std::vector<Line> head(const Snapshot& snapshot) const;
  Line foot(std::size_t first, std::size_t shown, std::size_t all) const;

  const std::string url_;
  const std::int64_t interval_ms_;
  ViewOptions options_{.is_short = true};
  std::optional<std::string> typed_;  // the filter that is being typed
  std::size_t first_ = 0;             // the first shown line of the lists
  std::size_t page_ = 1;              // lines of the lists that the last screen had room for
  bool shows_help_ = false;
  bool is_paused_ = false;
  bool is_over_ = false;
};

}  // namespace kq::tools
