#define NCURSES_NOMACROS 1

#include <langinfo.h>
#include <ncurses.h>
#include <poll.h>
#include <unistd.h>

#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tools/cli/text.h"
#include "tools/top/screen.h"

namespace kq::tools {
namespace {

constexpr int kEscapeMs = 25;  // the time in which the rest of a key's sequence follows its escape character
constexpr wint_t kControlL = 12;
constexpr wint_t kBackspace = 8;
constexpr wint_t kEscape = 27;
constexpr wint_t kDelete = 127;

// The colours of sys::Colour as pairs of ncurses.
constexpr short kGreenPair = 1;
constexpr short kRedPair = 2;
constexpr short kYellowPair = 3;

attr_t attribute_of(sys::Colour colour, bool has_pairs) {
  const auto pair = [&](short number) { return has_pairs ? static_cast<attr_t>(COLOR_PAIR(number)) : A_NORMAL; };
  switch (colour) {
    case sys::Colour::none:
      return A_NORMAL;
    case sys::Colour::bold:
      return A_BOLD;
    case sys::Colour::green:
      return pair(kGreenPair);
    case sys::Colour::red:
      return pair(kRedPair);
    case sys::Colour::yellow:
      return pair(kYellowPair);
    case sys::Colour::dim:
      return A_DIM;
  }
  return A_NORMAL;
}

Key key_of(wint_t code) {
  switch (code) {
    case KEY_UP:
      return Key::up;
    case KEY_DOWN:
      return Key::down;
    case KEY_PPAGE:
      return Key::page_up;
    case KEY_NPAGE:
      return Key::page_down;
    case KEY_HOME:
      return Key::home;
    case KEY_END:
      return Key::end;
    case KEY_ENTER:
      return Key::enter;
    case KEY_BACKSPACE:
    case KEY_DC:
      return Key::backspace;
    case KEY_RESIZE:
      return Key::resize;
    default:
      return Key::none;
  }
}

std::string utf8(wint_t code) {
  const auto tail = [&](unsigned shift) { return static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | (code >> 6)), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xE0 | (code >> 12)), tail(6), tail(0)};
  return {static_cast<char>(0xF0 | (code >> 18)), tail(12), tail(6), tail(0)};
}

class TerminalScreen final : public Screen {
 public:
  TerminalScreen(SCREEN* screen, bool with_colours) : screen_(screen), with_colours_(with_colours) {
    ::cbreak();
    ::noecho();
    ::nonl();
    ::curs_set(0);
    ::keypad(stdscr, TRUE);
    ::scrollok(stdscr, FALSE);
    ::set_escdelay(kEscapeMs);
    if (!with_colours_ || !::has_colors() || ::start_color() == ERR || ::use_default_colors() == ERR) return;
    has_pairs_ = true;
    ::init_pair(kGreenPair, COLOR_GREEN, -1);
    ::init_pair(kRedPair, COLOR_RED, -1);
    ::init_pair(kYellowPair, COLOR_YELLOW, -1);
  }
  ~TerminalScreen() override {
    ::endwin();
    ::delscreen(screen_);
  }
  TerminalScreen(const TerminalScreen&) = delete;
  TerminalScreen& operator=(const TerminalScreen&) = delete;

  ScreenSize size() override {
    return {.width = static_cast<std::size_t>(::getmaxx(stdscr)),
            .height = static_cast<std::size_t>(::getmaxy(stdscr))};
  }

  void draw(const std::vector<Line>& lines) override {
    ::werase(stdscr);
    for (std::size_t y = 0; y < lines.size(); ++y) {
      ::wmove(stdscr, static_cast<int>(y), 0);
      for (const Piece& piece : lines[y]) {
        ::wattrset(stdscr, static_cast<int>(with_colours_ ? attribute_of(piece.colour, has_pairs_) : A_NORMAL));
        ::waddnstr(stdscr, piece.text.c_str(), -1);
      }
    }
    ::wattrset(stdscr, A_NORMAL);
    ::wrefresh(stdscr);
  }

  // ncurses may hold a key that it has read already, so it is asked before and after the wait.
  Press wait(std::int64_t ms) override {
    Press press = take();
    if (press.key != Key::none) return press;
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    // A signal, such as that of a new size, ends the wait.
    const bool is_ready = ::poll(&input, 1, static_cast<int>(ms)) > 0;
    if (is_ready && (input.revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return {.key = Key::closed};
    return take();
  }

 private:
  // Returns the next key without waiting.
  Press take() {
    ::wtimeout(stdscr, 0);
    wint_t code = 0;
    const int kind = ::wget_wch(stdscr, &code);
    if (kind == KEY_CODE_YES) return {.key = key_of(code)};
    if (kind != OK) return {};
    if (code == '\n' || code == '\r') return {.key = Key::enter};
    if (code == kEscape) return {.key = Key::escape};
    if (code == kBackspace || code == kDelete) return {.key = Key::backspace};
    if (code == kControlL) {  // draws the whole screen again
      ::clearok(stdscr, TRUE);
      return {.key = Key::resize};
    }
    if (code < ' ') return {};
    return {.key = Key::character, .character = utf8(code)};
  }

  SCREEN* const screen_;
  const bool with_colours_;
  bool has_pairs_ = false;
};

}  // namespace

Expected<std::unique_ptr<Screen>> open_terminal(bool with_colours) {
  // All texts are UTF-8.
  std::setlocale(LC_CTYPE, "");
  if (std::string_view(::nl_langinfo(CODESET)) != "UTF-8") std::setlocale(LC_CTYPE, "C.UTF-8");
  SCREEN* const screen = ::newterm(nullptr, stdout, stdin);
  if (screen == nullptr) {
    const char* name = std::getenv("TERM");
    return bad_input("there is no description of the terminal '" + printable(name == nullptr ? "" : name) +
                     "' here; set TERM to one that this machine knows, such as xterm, or use --plain");
  }
  return std::make_unique<TerminalScreen>(screen, with_colours);
}

}  // namespace kq::tools
