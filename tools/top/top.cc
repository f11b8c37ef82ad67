#include "tools/top/top.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "producer/client/when.h"
#include "sys/clock.h"
#include "tools/cli/flags.h"
#include "tools/cli/text.h"
#include "tools/ctl/broker_requests.h"
#include "tools/stack/stop_signals.h"
#include "tools/top/client_source.h"
#include "tools/top/facts_json.h"
#include "tools/top/screen.h"
#include "tools/top/watcher.h"

namespace kq::tools {
namespace {

struct Wishes {
  BrokerFlags broker;
  std::int64_t interval_ms = 2'000;
  std::uint32_t count = 0;  // looks; 0: not given
  bool plain = false;
};

// Looks until all runs are counted, or for kTopReadingMs.
Expected<TopFacts> complete_look(Gatherer& gatherer, TopSource& source) {
  const std::int64_t end_ms = sys::monotonic_now_ms() + kTopReadingMs;
  for (;;) {
    auto facts = gatherer.look(source);
    if (!facts || gatherer.is_complete() || sys::monotonic_now_ms() >= end_ms) return facts;
  }
}

void print_text(const TopFacts& facts, const std::string& url, const TopWorld& world) {
  const auto print = [&](const std::vector<Line>& lines) {
    for (const Line& line : lines) world.out << text_of(line, world.takes_colour);
  };
  world.out << "kq top  " << printable(url) << "  kq " << printable(facts.version) << "  "
            << producer::when_text(facts.now_ms) << '\n';
  print(summary_lines(facts, {}));
  const std::vector<Line> lists = list_lines(facts, {});
  if (!lists.empty()) world.out << '\n';
  print(lists);
}

// Prints the facts once, or as often as was asked for. An Error of any look ends the program.
Expected<int> run_plain(producer::Client client, const Wishes& wishes, const TopWorld& world) {
  std::optional<int> signal;
  ClientSource source(std::move(client), world.unix_now_ms);
  source.client().stop_when([&] {
    if (!signal) signal = world.take_signal(0);
    return signal.has_value();
  });
  Gatherer gatherer;
  const std::uint32_t count = std::max(wishes.count, 1u);
  for (std::uint32_t look = 0; look < count; ++look) {
    if (look > 0) signal = world.take_signal(wishes.interval_ms);
    if (signal) return exit_code_of_signal(*signal);
    const auto facts = complete_look(gatherer, source);
    if (signal) return exit_code_of_signal(*signal);
    if (!facts) return failure(facts.error());
    if (wishes.broker.json) {
      world.out << producer::to_text(facts_json(*facts, source.client().url())) << '\n';
    } else {
      if (look > 0) world.out << '\n';
      print_text(*facts, source.client().url(), world);
    }
    world.out << std::flush;
  }
  return 0;
}

Expected<int> run_live(producer::Client client, const Wishes& wishes, const TopWorld& world) {
  Session session(client.url(), wishes.interval_ms);
  KQ_TRY_VALUE(const std::unique_ptr<Screen> screen, world.open_screen());
  Watcher watcher(std::move(client), world.unix_now_ms, wishes.interval_ms);
  std::uint64_t drawn_looks = 0;
  std::int64_t drawn_silent_s = 0;
  bool is_due = true;
  for (;;) {
    const std::uint64_t looks = watcher.look_count();
    const Snapshot snapshot = watcher.snapshot();
    // The lists of a thousand workers are laid out only when something has changed.
    if (is_due || looks != drawn_looks || snapshot.silent_ms / 1'000 != drawn_silent_s) {
      screen->draw(session.screen_lines(snapshot, screen->size()));
      drawn_looks = looks;
      drawn_silent_s = snapshot.silent_ms / 1'000;
    }
    const bool is_last = wishes.count != 0 && looks >= wishes.count;
    // A broker that refuses from the start, for example because of the key, will not change its mind.
    const bool is_refused = snapshot.error && snapshot.error->kind == ErrorKind::bad_input;
    if (!snapshot.facts && snapshot.error && (is_last || is_refused)) return failure(*snapshot.error);
    if (is_last) return 0;
    const Press press = screen->wait(kKeyWaitMs);
    is_due = press.key != Key::none;
    session.press(press);
    watcher.pause(session.is_paused());
    if (const auto signal = world.take_signal(0)) return exit_code_of_signal(*signal);
    if (session.is_over()) return 0;
  }
}

Expected<int> run(int argc, const char* const* argv, const TopWorld& world) {
  Wishes wishes;
  std::optional<double> interval_s;
  Flags flags(argv[0],
              "Shows a queue live: jobs by state, workers and what they run, runs with their progress, the last "
              "failures. Where the output is no terminal, prints the same as text, once. ? lists the keys.");
  add_flags(flags, wishes.broker);
  flags.group("Looks");
  flags.seconds("--interval", "time between two looks at the broker, 0.5 to 3600 (default: 2)", interval_s);
  flags.number("--count", "end after N looks (default: no end on a terminal, else 1)", wishes.count, 1, 1'000'000'000);
  flags.flag("--plain", "print text also on a terminal", wishes.plain);
  flags.examples(
      "  kq top                              live, q leaves\n"
      "  kq top --plain --count 10           ten tables, two seconds apart\n"
      "  kq top --json | jq .queue.queued    one figure");
  if (const auto code = flags.parse(argc, argv)) return static_cast<int>(*code);
  if (interval_s && (*interval_s < kTopIntervalMinS || *interval_s > kTopIntervalMaxS))
    return bad_input("--interval must be from 0.5 to 3600 seconds, got " +
                     producer::to_text(producer::Json{*interval_s}));
  if (interval_s) wishes.interval_ms = static_cast<std::int64_t>(*interval_s * 1'000);
  KQ_TRY_VALUE(auto client, world.connect(wishes.broker.broker, wishes.broker.key));
  const bool is_live = world.is_terminal && !wishes.plain && !wishes.broker.json;
  return is_live ? run_live(std::move(client), wishes, world) : run_plain(std::move(client), wishes, world);
}

}  // namespace

int run_top(int argc, const char* const* argv, const TopWorld& world) {
  const Expected<int> code = run(argc, argv, world);
  return code ? *code : static_cast<int>(report_error(argv[0], code.error()));
}

}  // namespace kq::tools
