// The screen of kq-top. Only terminal_screen.cc knows ncurses; tests have a screen of their own.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/error.h"
#include "tools/top/lines.h"
#include "tools/top/session.h"

namespace kq::tools {

class Screen {
 public:
  virtual ~Screen() = default;

  virtual ScreenSize size() = 0;
  // Shows the lines from the top. The lines fit the size.
  virtual void draw(const std::vector<Line>& lines) = 0;
  // Waits for a key, at most `ms`. Returns Key::none where none was pressed.
  virtual Press wait(std::int64_t ms) = 0;
};

// Takes over the terminal at standard input and output until the screen is destroyed, which restores it. Fails where
// the terminal is of an unknown kind.
Expected<std::unique_ptr<Screen>> open_terminal(bool with_colours);

}  // namespace kq::tools
