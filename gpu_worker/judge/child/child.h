// The judge's end of one child's channel (gpu_worker/channel/channel.h): it gives commands to the child, waits for the
// answers, and checks them.
//
// Theory of operation. Judge and child share the channel page, and the child may write anything into it at any time.
// So the judge keeps its own count of commands, copies an answer out of the page exactly once, and checks and uses only
// the copy. A child that exits, does not answer in time or breaks the channel's protocol gets an outcome of its own,
// and the judge gives it no further command. A child without a GPU runs only while it has a command (process.h).
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
#include "gpu_worker/judge/child/exits.h"
#include "gpu_worker/judge/child/process.h"
#include "gpu_worker/judge/device/memory.h"
#include "gpu_worker/judge/tensor/table.h"
#include "sys/fd.h"

namespace kq::judge {

// See channel::Page::input_tree. The bytes are the child's own, at most kTreeMax of them; the judge does not read them.
struct Trees {
  std::string inputs = {};
  std::string outputs = {};
};

// The child answered. Every field is bounded and well-formed, but its content is only what the child claims.
struct Answered {
  bool ok = false;
  channel::Failure failure = channel::Failure::none;
  std::string text;  // printable
  std::int64_t event_ns = 0;
  // Of a reference's load: at least one, also where the load failed; none where the table is malformed.
  std::vector<WorkloadRow> workloads;
  Tables tables;  // those that the command fills: all for a reference's load, inputs for make_inputs, outputs for call
  std::int64_t interval_ns = 0;    // the timed interval: from just before `at_start` until `at_done` has returned
  bool has_check = false;          // of a reference's load: the problem has a function check()
  bool has_forbidden = false;      // likewise: the problem has FORBIDDEN
  bool wants_own_kernels = false;  // likewise: the problem asks for kernels of the submission's own
  bool is_early = false;           // the answer came before the interval began, that is before `at_start`
  Trees trees;                     // of a reference's load
};
struct Exited {
  int wait_status = 0;
};
struct TimedOut {
  std::int64_t limit_ms = 0;
};
struct Malformed {
  std::string what;  // how the child broke the protocol
};
struct RanWhileStopped {
  std::string what;  // what of the child has run while it had no command
};
using Outcome = std::variant<Answered, Exited, TimedOut, Malformed, RanWhileStopped>;

// The sockets of an attempt's children, as the control process sends them. A child that is kept from the attempt before
// sends none.
struct Channels {
  sys::Fd calibrator = {};
  sys::Fd reference = {};
  sys::Fd submission = {};
};

// One command and its limits.
struct CommandRequest {
  channel::Command command = channel::Command::none;
  std::int64_t limit_ms = 0;
  // The limit begins when the child reports that it has launched its work, or after this time.
  std::int64_t launch_limit_ms = 0;
  // The slots of a burst's calls. The judge tells the child each slot only when the call before has returned.
  std::span<const std::uint16_t> slots = {};
  // The seed of the random numbers that the command draws. The child learns it together with `go`.
  std::uint64_t seed = 0;
  std::uint32_t workload = 0;  // for Command::load: the index of the workload
  bool is_watched = false;     // for Command::call: as in channel::Page
};

// How judge and child wait for each other. Spinning reacts within a microsecond, but takes two cores. spin_briefly is
// for calls on a CPU, which need the cores themselves: the child spins between staging and `go`, the judge at the
// beginning of a timed interval.
enum class WaitMode { sleep, spin_briefly, spin };

class Child {
 public:
  // Makes the page and sends it to the child. Succeeds even where the child has already exited; the first command
  // reports that.
  static Expected<std::unique_ptr<Child>> start(sys::Fd socket, ChildRole role, Exits& exits, WaitMode wait_mode);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void write_inputs(const std::vector<Tensor>& inputs);
  void write_outputs(const std::vector<Tensor>& outputs);
  void write_states(const std::vector<Tensor>& states);
  void write_trees(const Trees& trees);
  // Sends the window that the next Command::attach maps. The arena, if it lies in that window, is sent with it.
  void send_window(const Memory& window, const Arena& arena = {});

  // Sets the number and size of the window's slots and the number of calls in a burst.
  void write_slots(std::uint32_t slots, std::uint64_t slot_bytes, std::uint32_t calls);

  // Sets how many bytes each later null call writes.
  void write_touch_bytes(std::uint64_t bytes);

  // Sets the seeds of the next Command::answer, one pair for each slot.
  void write_answer_seeds(std::span<const channel::Seeds> seeds);

  // Tells a submission, before its Command::load, whether the problem forbids something.
  void write_has_forbidden(bool has_forbidden);

  // Sets what the next Command::truth computes.
  void write_truth_order(channel::TruthOrder order);

  // What the judge does at both ends of the timed interval.
  struct Hooks {
    // Where positive: the interval begins when the child reports that it has launched its work, or this long after
    // `go`. Otherwise it begins with `go`.
    std::int64_t launch_ns = 0;
    // Runs as soon as the interval has begun.
    std::function<void()> at_start = {};
    // Runs as soon as the child is done, before any other part of the answer is read. Its end is the interval's end.
    std::function<Expected<void>()> at_done = {};
  };
  // Gives one command and waits for its outcome. Fails where the control process is gone or at_done() fails. at_start()
  // runs in every case, exactly once.
  Expected<Outcome> command(const CommandRequest& request, const Hooks& hooks);
  Expected<Outcome> command(const CommandRequest& request) { return command(request, {}); }
  // begin() gives the command and returns; finish() waits for its outcome. The caller may give commands to other
  // children between the two calls, but none to this one.
  void begin(const CommandRequest& request) { begin(request, {}); }
  Expected<Outcome> finish() { return finish(Hooks{}); }
  bool is_busy() const { return begun_.has_value(); }
  // Returns whether finish() would return without waiting for the child to answer. The answer may still be a failure.
  bool has_answered() const { return hung_up_ || is_out_of_turn_ || done() == commands_; }

  // Returns whether the child has answered every command so far.
  bool usable() const { return usable_; }

  // The child's process, which is stopped while the child has no command; null for a child with a GPU, and where the
  // judge may not stop the process. Known from the first answer on.
  ChildProcess* process() const { return process_.get(); }
  // Overwrites outputs that the process keeps while it is stopped, as the judge does with those in an arena: a later
  // call that writes only a part of them is caught.
  void fill_in_process(std::span<const Tensor> outputs, std::uint32_t word);
  // Lets the process go on for a moment without a command. Returns in words what of it then runs all the time, or an
  // empty text.
  std::string runs_without_command();

 private:
  enum class Wake { done, exited, timed_out, out_of_turn };
  Child(sys::Fd socket, ChildRole role, Exits& exits, WaitMode wait_mode, channel::Page* page);
  void begin(const CommandRequest& request, const Hooks& hooks);
  Expected<Outcome> finish(const Hooks& hooks);
  void send(char byte, int fd);
  std::uint32_t done() const;
  bool has_launched() const;
  void wait_for_launches(const CommandRequest& request, std::int64_t launch_ns);
  Expected<Wake> wait(const CommandRequest& request, std::int64_t start_ns, std::int64_t spin_ns);
  bool advance_burst(std::span<const std::uint16_t> slots);
  Expected<Outcome> wait_for_exit();
  void find_process();
  std::string end_interval(std::int64_t& end_ns);
  Outcome read_answer(channel::Command command, std::int64_t interval_ns) const;
  tl::expected<std::vector<WorkloadRow>, std::string> read_workloads() const;
  tl::expected<Tables, std::string> read_tables(channel::Command command, std::uint32_t input_count,
                                                std::uint32_t output_count, std::uint32_t state_count) const;

  sys::Fd socket_;
  ChildRole role_;
  Exits& exits_;
  WaitMode wait_mode_;
  channel::Page* page_;
  std::uint32_t commands_ = 0;           // the number of commands given so far, which is the value of `go`
  std::uint32_t turns_ = 0;              // the number of turns announced in this burst, with the turn that ends it
  std::optional<CommandRequest> begun_;  // the command that finish() has to wait for
  bool is_out_of_turn_ = false;          // the child had counted an answer before the command was given
  std::int64_t start_ns_ = 0;            // when the timed interval began
  bool is_early_ = false;                // of this command, as in Answered
  std::optional<int> exit_;
  bool hung_up_ = false;  // the child's end of the socket is closed
  std::unique_ptr<ChildProcess> process_;
  bool has_sought_process_ = false;
  std::string ran_while_stopped_;  // before the command that was begun last
  bool usable_ = true;
};

}  // namespace kq::judge
