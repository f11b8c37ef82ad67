#include "tools/top/session.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "producer/client/when.h"
#include "tools/cli/text.h"

namespace kq::tools {
namespace {

using sys::Colour;

constexpr std::size_t kToEnd = std::numeric_limits<std::size_t>::max() / 2;

constexpr std::string_view kHelp[] = {
    "q            leaves",
    "up, down     scroll by a line; page up, page down by a screen; home, end to the ends",
    "s            sorts the workers: by attention, name, leases, oldest lease",
    "p            pauses, and goes on",
    "/            shows only workers, runs and failures that have a text in their name, label or model;",
    "             enter ends the text, escape removes it",
    "?            shows and hides this help",
    "",
    "LEASED is the age of a lease, BUILD how long its job has been building. Clock, temperature and power are",
    "what the last job on a GPU saw.",
};

void remove_character(std::string& text) {
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) text.pop_back();
  if (!text.empty()) text.pop_back();
}

std::string seconds_text(std::int64_t ms) {
  const std::string tenths = ms % 1000 == 0 ? "" : "." + std::to_string(ms % 1000 / 100);
  return std::to_string(ms / 1000) + tenths + " s";
}

}  // namespace

void Session::press(const Press& press) {
  if (typed_ && press.key != Key::closed) {
    type(press);
    return;
  }
  switch (press.key) {
    case Key::character:
      command(press.character);
      break;
    case Key::up:
      first_ -= std::min<std::size_t>(first_, 1);
      break;
    case Key::down:
      ++first_;
      break;
    case Key::page_up:
      first_ -= std::min(first_, page_);
      break;
    case Key::page_down:
      first_ += page_;
      break;
    case Key::home:
      first_ = 0;
      break;
    case Key::end:
      first_ = kToEnd;
      break;
    case Key::escape:
      shows_help_ = false;
      options_.filter.clear();
      break;
    case Key::closed:
      is_over_ = true;
      break;
    case Key::none:
    case Key::enter:
    case Key::backspace:
    case Key::resize:
      break;
  }
}

void Session::type(const Press& press) {
  if (press.key == Key::enter) {
    options_.filter = *std::exchange(typed_, std::nullopt);
    first_ = 0;
  } else if (press.key == Key::escape) {
    typed_.reset();
    options_.filter.clear();
  } else if (press.key == Key::backspace) {
    remove_character(*typed_);
  } else if (press.key == Key::character && typed_->size() + press.character.size() <= kFilterBytesMax) {
    *typed_ += press.character;
  }
}

void Session::command(const std::string& character) {
  if (character == "q") {
    is_over_ = true;
  } else if (character == "?") {
    shows_help_ = !shows_help_;
  } else if (character == "p") {
    is_paused_ = !is_paused_;
  } else if (character == "/") {
    typed_ = "";
  } else if (character == "s") {
    constexpr std::size_t order_count = enum_names(WorkerOrder{}).size();
    options_.order = static_cast<WorkerOrder>((static_cast<std::size_t>(options_.order) + 1) % order_count);
  }
}

std::vector<Line> Session::head(const Snapshot& snapshot) const {
  Line title{{"kq top  ", Colour::bold}, {printable(url_)}};
  if (snapshot.facts) {
    title.push_back({"  kq " + printable(snapshot.facts->version) + "  " + producer::when_text(snapshot.facts->now_ms) +
                     "  every " + seconds_text(interval_ms_)});
  }
  if (is_paused_) title.push_back({"  paused", Colour::yellow});
  std::vector<Line> lines{cut_line(std::move(title), options_.width)};
  if (snapshot.silent_ms > 0) {
    lines.push_back({{"the broker has not answered for " + age_text(snapshot.silent_ms), Colour::red}});
  } else if (snapshot.error) {
    lines.push_back({{printable(snapshot.error->message), Colour::red}});
  }
  if (snapshot.facts) {
    std::ranges::move(summary_lines(*snapshot.facts, options_), std::back_inserter(lines));
  } else if (lines.size() == 1) {
    lines.push_back({{"the broker is asked for the first time", Colour::dim}});
  }
  lines.push_back({});
  return lines;
}

Line Session::foot(std::size_t first, std::size_t shown, std::size_t all) const {
  if (typed_) return {{"/" + printable(*typed_) + "_", Colour::bold}};
  std::string text = "q quit  s sort: " + std::string(to_string(options_.order)) + "  / filter";
  if (!options_.filter.empty()) text += ": " + printable(options_.filter);
  text += is_paused_ ? "  p go on  ? help" : "  p pause  ? help";
  if (all > shown)
    text += "  lines " + std::to_string(first + 1) + "-" + std::to_string(first + shown) + " of " + std::to_string(all);
  return {{text, Colour::dim}};
}

std::vector<Line> Session::screen_lines(const Snapshot& snapshot, ScreenSize size) {
  options_.width = std::max<std::size_t>(size.width, 1);
  std::vector<Line> screen = head(snapshot);
  std::vector<Line> lists;
  if (shows_help_) {
    for (const std::string_view line : kHelp) lists.push_back({{std::string(line)}});
  } else if (snapshot.facts) {
    lists = list_lines(*snapshot.facts, options_);
    if (lists.empty() && !options_.filter.empty())
      lists.push_back({{"nothing has '" + printable(options_.filter) + "' in its name, label or model", Colour::dim}});
  }
  // One row is left for the last line.
  page_ = size.height > screen.size() + 1 ? size.height - screen.size() - 1 : 1;
  first_ = std::min(first_, lists.size() - std::min(lists.size(), page_));
  const std::size_t shown = std::min(lists.size() - first_, page_);
  for (std::size_t i = 0; i < shown; ++i) screen.push_back(std::move(lists[first_ + i]));
  screen.resize(std::max<std::size_t>(size.height, 1) - 1);
  screen.push_back(foot(first_, shown, lists.size()));
  for (Line& line : screen) line = cut_line(std::move(line), options_.width);
  return screen;
}

}  // namespace kq::tools
