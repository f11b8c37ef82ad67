// The judge's end of one child's channel (gpu_worker/channel/channel.h): gives commands, waits, and makes the answer
// safe.
//
// Theory of operation. The page is shared with a process that may write anything into it at any time. So the judge
// keeps its own count of commands, copies an answer out exactly once, and looks only at the copy. A child that ends,
// stays silent or writes what no honest child writes has an outcome of its own, after which it is never commanded
// again.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "core/base/error.h"
#include "gpu_worker/channel/channel.h"
#include "gpu_worker/judge/device/device.h"
#include "gpu_worker/judge/exits.h"
#include "gpu_worker/judge/tensor/table.h"
#include "gpu_worker/judge/trial/outputs.h"
#include "sys/fd.h"

namespace kq::judge {

// It answered. Everything in here is bounded and well-formed, and still only what the child says.
struct Answered {
  bool ok = false;
  channel::Failure failure = channel::Failure::none;
  std::string text;  // printable
  std::int64_t event_ns = 0;
  Tables tables;  // what the command fills: all for a reference's load, inputs for make_inputs, outputs for call
  std::int64_t bracket_ns = 0;  // from just before `at_start` until `at_done` had returned
  bool is_early = false;        // it came before `at_start`, which was still waited for
};
struct Exited {
  int wait_status = 0;
};
struct TimedOut {
  std::int64_t limit_ms = 0;
};
struct Malformed {
  std::string what;
};
using Outcome = std::variant<Answered, Exited, TimedOut, Malformed>;

// The judge's ends of an attempt's channels, as they come from control; none for a child that is kept from the last
// attempt.
struct Channels {
  sys::Fd calibrator = {};
  sys::Fd reference = {};
  sys::Fd submission = {};
};

struct Order {
  channel::Command command = channel::Command::none;
  std::int64_t limit_ms = 0;
  std::int64_t launch_limit_ms =
      0;  // so long the limit does not begin before the child says that it has launched its work
  std::span<const std::uint16_t> slots = {};  // of a burst's calls, each told when the one before has returned
  std::uint64_t seed = 0;                     // of what it draws: the child learns it with `go`
};

// How both ends wait for each other: spinning answers within a microsecond but takes two cores.
enum class Waiting { sleep, spin };

class Child {
 public:
  // Makes the page and sends it. The child may be gone already: the first command says so.
  static Expected<std::unique_ptr<Child>> start(sys::Fd socket, ChildRole role, Exits& exits, Waiting waiting);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void write_inputs(const std::vector<Tensor>& inputs);
  void write_outputs(const std::vector<Tensor>& outputs);
  void write_states(const std::vector<Tensor>& states);
  // Hands over the window that the next `attach` maps, and says where the arena is, if it is in there.
  void send_window(const Memory& window, const Arena& arena = {});

  // The window's slots, and how many calls a burst has.
  void lay_slots(std::uint32_t slots, std::uint64_t slot_bytes, std::uint32_t calls);

  // What null calls write from now on.
  void lay_touch(std::uint64_t bytes);

  // Of the next Command::answer, one for each slot.
  void lay_answers(std::span<const channel::Seeds> answers);

  // What the judge does at both ends of the clock's interval.
  struct Hooks {
    std::int64_t launch_ns =
        0;  // the interval begins when the child says that it has launched its work, or so long after `go`
    std::function<void()> at_start = {};           // as soon as it begins
    std::function<Expected<void>()> at_done = {};  // as soon as it says done, before anything of the answer is read
  };
  // Gives one command and waits for its outcome. An Error is ours: control is gone, or at_done failed. `at_start` runs
  // whatever happens.
  Expected<Outcome> command(const Order& order, const Hooks& hooks);
  Expected<Outcome> command(const Order& order) { return command(order, {}); }
  // The same in two halves, for what others do meanwhile. Nothing else is asked of this child between them.
  void begin(const Order& order) { begin(order, {}); }
  Expected<Outcome> finish() { return finish(Hooks{}); }
  bool is_busy() const { return begun_.has_value(); }
  // Its answer has come, or may: what finish() says of it is not known yet.
  bool has_answered() const { return hung_up_ || is_out_of_turn_ || done() == commands_; }

  // It answered every command so far.
  bool usable() const { return usable_; }

 private:
  enum class Wake { done, exited, timed_out, out_of_turn };
  Child(sys::Fd socket, ChildRole role, Exits& exits, Waiting waiting, channel::Page* page);
  void begin(const Order& order, const Hooks& hooks);
  Expected<Outcome> finish(const Hooks& hooks);
  void send(char byte, int fd);
  std::uint32_t done() const;
  bool has_launched() const;
  void wait_for_launches(const Order& order, std::int64_t launch_ns);
  Expected<Wake> wait(const Order& order, std::int64_t start_ns);
  bool name_slots(std::span<const std::uint16_t> slots);
  Expected<Outcome> gone();
  Outcome answer(channel::Command command, std::int64_t bracket_ns) const;
  tl::expected<Tables, std::string> tables(channel::Command command, std::uint32_t input_count, std::uint32_t output_count,
                                           std::uint32_t state_count) const;

  sys::Fd socket_;
  ChildRole role_;
  Exits& exits_;
  Waiting waiting_;
  channel::Page* page_;
  std::uint32_t commands_ = 0;   // given so far: the value of `go`
  std::uint32_t turns_ = 0;      // named so far in this burst; the one that ends it counts
  std::optional<Order> begun_;   // and not finished yet
  bool is_out_of_turn_ = false;  // it had answered before it was asked
  std::int64_t start_ns_ = 0;    // of the clock
  bool is_early_ = false;        // of this command, as in Answered
  std::optional<int> exit_;
  bool hung_up_ = false;  // its end of the socket is closed
  bool usable_ = true;
};

// The judge's clock, monotonic, in nanoseconds.
std::int64_t clock_ns();

}  // namespace kq::judge
