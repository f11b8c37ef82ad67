#include "gpu_worker/judge/child/child.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <utility>

#include "core/base/check.h"
#include "core/problem.h"
#include "gpu_worker/judge/device/clock.h"
#include "sys/error_text.h"

namespace kq::judge {
namespace {

using channel::Command;
using channel::Page;
using channel::TensorDesc;

constexpr std::int64_t kMs = 1'000'000;
// How long the judge sleeps before it checks limits and exits, and how long in a burst, where the child waits for its
// next slot meanwhile.
constexpr std::int64_t kSleepNs = 2 * kMs;
constexpr std::int64_t kBurstSleepNs = 50'000;
// How often the judge asks for the child's exit.
constexpr std::int64_t kExitCheckNs = 1 * kMs;
// How long the judge spins for one command. For a longer command the time of a wake-up is not worth a core.
constexpr std::int64_t kSpinNs = 1'000 * kMs;
// How long a judge in WaitMode::spin_briefly spins for a timed command, so that the interval of a short call does not
// hold the wake-up of the judge.
constexpr std::int64_t kBriefSpinNs = 20'000;
// How long a child spins on `go` before it sleeps: long enough for all that the judge does between two commands of a
// trial; and where judge and child sleep, long enough for a command that follows at once.
constexpr std::uint64_t kChildSpinNs = 50 * kMs;
constexpr std::uint64_t kSleepingChildSpinNs = 1 * kMs;
// In WaitMode::spin_briefly only a child that is staged or in a burst spins, for long enough that the judge can lay
// down inputs and poison. The spinning of any other child would take a processor from the call that is timed.
constexpr std::uint64_t kStagedChildSpinNs = 4 * kMs;
// The control process reports the exit of a child that has closed its socket within this time.
constexpr std::int64_t kExitReportMs = 2'000;

std::string system_error(const char* what) {
  return sys::error_text(what);
}

long futex(std::uint32_t* word, int operation, std::uint32_t value, const timespec* timeout) {
  return ::syscall(SYS_futex, word, operation, value, timeout, nullptr, 0);
}

std::uint64_t child_spin_ns(WaitMode wait_mode, Command command) {
  switch (wait_mode) {
    case WaitMode::sleep:
      return kSleepingChildSpinNs;
    case WaitMode::spin_briefly:
      return channel::is_staging(command) || command == Command::burst ? kStagedChildSpinNs : 0;
    case WaitMode::spin:
      return kChildSpinNs;
  }
  return 0;
}

std::int64_t judge_spin_ns(WaitMode wait_mode, bool is_timed) {
  switch (wait_mode) {
    case WaitMode::sleep:
      return 0;
    case WaitMode::spin_briefly:
      return is_timed ? kBriefSpinNs : 0;
    case WaitMode::spin:
      return kSpinNs;
  }
  return 0;
}

// All accesses to words of the page that either side may write at any time go through load() and store().
std::uint32_t load(std::uint32_t& word) {
  return std::atomic_ref(word).load(std::memory_order_acquire);
}
void store(std::uint32_t& word, std::uint32_t value) {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  asm volatile("" : : : "memory");
#endif
}

// Copies bytes out of the page. The barrier keeps the compiler from reading the page again instead of the copy.
void copy_out(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  asm volatile("" : : "r"(to) : "memory");
}

void write_rows(TensorDesc* rows, std::uint32_t& row_count, std::size_t rows_max, const std::vector<Tensor>& tensors) {
  KQ_CHECK(tensors.size() <= rows_max);
  std::ranges::transform(tensors, rows, row_of);
  row_count = static_cast<std::uint32_t>(tensors.size());
}

tl::expected<std::vector<Tensor>, std::string> read_rows(const TensorDesc* rows, std::uint32_t row_count,
                                                         std::uint32_t rows_max, const std::string& what,
                                                         Strides strides = Strides::ignored) {
  if (row_count > rows_max)
    return tl::unexpected(std::to_string(row_count) + " " + what + "s, at most " + std::to_string(rows_max));
  std::vector<TensorDesc> copy(row_count);
  copy_out(copy.data(), rows, copy.size() * sizeof(TensorDesc));
  return read_table(copy, what, strides);
}

void write_tree(char* text, std::uint32_t& bytes, const std::string& tree) {
  KQ_CHECK(tree.size() <= channel::kTreeMax);
  std::ranges::copy(tree, text);
  bytes = static_cast<std::uint32_t>(tree.size());
}

tl::expected<std::string, std::string> read_tree(const char* text, const std::uint32_t& bytes, const char* what) {
  std::uint32_t count = 0;
  copy_out(&count, &bytes, sizeof count);
  if (count > channel::kTreeMax) {
    return tl::unexpected("a description of its " + std::string(what) + " of " + std::to_string(count) +
                          " bytes, at most " + std::to_string(channel::kTreeMax));
  }
  std::string tree(count, '\0');
  copy_out(tree.data(), text, count);
  return tree;
}

}  // namespace

Expected<std::unique_ptr<Child>> Child::start(sys::Fd socket, ChildRole role, Exits& exits, WaitMode wait_mode) {
  const sys::Fd file(::memfd_create("kq-page", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return our_fault(system_error("memfd_create for a channel page"));
  if (::ftruncate(file.get(), sizeof(Page)) != 0) return our_fault(system_error("ftruncate of a channel page"));
  // Without the seals a child could shrink the file, and the judge would die of SIGBUS.
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return our_fault(system_error("sealing a channel page"));
  }
  void* const at = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (at == MAP_FAILED) return our_fault(system_error("mmap of a channel page"));

  auto* const page = static_cast<Page*>(at);
  page->magic = channel::kMagic;
  page->page_bytes = sizeof(Page);
  // What a reference has that describes no workloads.
  page->workload_count = 1;
  kDefaultWorkload.copy(page->workloads[0].name, sizeof page->workloads[0].name - 1);
  page->workloads[0].weight = 1;
  page->spin_ns = child_spin_ns(wait_mode, Command::none);
  std::unique_ptr<Child> child(new Child(std::move(socket), role, exits, wait_mode, page));
  // The child's packet then comes with the number of its process.
  const int is_on = 1;
  ::setsockopt(child->socket_.get(), SOL_SOCKET, SO_PASSCRED, &is_on, sizeof is_on);
  child->send('P', file.get());
  return child;
}

Child::Child(sys::Fd socket, ChildRole role, Exits& exits, WaitMode wait_mode, Page* page)
    : socket_(std::move(socket)), role_(role), exits_(exits), wait_mode_(wait_mode), page_(page) {}

Child::~Child() {
  ::munmap(page_, sizeof(Page));
}

void Child::write_inputs(const std::vector<Tensor>& inputs) {
  write_rows(page_->inputs, page_->input_count, channel::kInputsMax, inputs);
}

void Child::write_outputs(const std::vector<Tensor>& outputs) {
  write_rows(page_->outputs, page_->output_count, channel::kOutputsMax, outputs);
}

void Child::write_states(const std::vector<Tensor>& states) {
  write_rows(page_->states, page_->state_count, channel::kStatesMax, states);
}

void Child::write_trees(const Trees& trees) {
  write_tree(page_->input_tree, page_->input_tree_bytes, trees.inputs);
  write_tree(page_->output_tree, page_->output_tree_bytes, trees.outputs);
}

void Child::send_window(const Memory& window, const Arena& arena) {
  page_->window_bytes = window.bytes();
  page_->arena_bytes = arena.memory == &window ? arena.bytes() : 0;
  send('W', window.fd());
}

void Child::write_slots(std::uint32_t slots, std::uint64_t slot_bytes, std::uint32_t calls) {
  page_->slots = slots;
  page_->slot_bytes = slot_bytes;
  page_->calls = calls;
}

void Child::write_touch_bytes(std::uint64_t bytes) {
  page_->touch_bytes = bytes;
}

void Child::write_answer_seeds(std::span<const channel::Seeds> seeds) {
  KQ_CHECK(seeds.size() <= channel::kAnswersMax);
  std::ranges::copy(seeds, page_->answers);
  page_->answer_count = seeds.size();
}

void Child::write_has_forbidden(bool has_forbidden) {
  page_->has_forbidden = has_forbidden ? 1 : 0;
}

void Child::write_truth_order(channel::TruthOrder order) {
  page_->truth = order;
}

void Child::send(char byte, int fd) {
  if (!sys::send_packet(socket_.get(), std::string_view(&byte, 1), std::span(&fd, 1))) hung_up_ = true;
}

std::uint32_t Child::done() const {
  return load(page_->done);
}

bool Child::has_launched() const {
  return load(page_->launched) == commands_;
}

Expected<Outcome> Child::command(const CommandRequest& request, const Hooks& hooks) {
  begin(request, hooks);
  return finish(hooks);
}

void Child::begin(const CommandRequest& request, const Hooks& hooks) {
  KQ_CHECK(usable_);
  usable_ = false;  // until the child has answered
  begun_ = request;
  is_out_of_turn_ = done() != commands_;
  is_early_ = false;
  if (hung_up_ || is_out_of_turn_) {
    if (hooks.at_start) hooks.at_start();
    if (process_) process_->resume();  // so that it can end
    return;
  }
  if (process_ && role_ == ChildRole::submission) ran_while_stopped_ = process_->ran_while_stopped();
  // A child that is stopped at `done` must leave its core to the judge, which else waits for as long as the child
  // spins.
  const std::uint64_t stopped_spin_ns = request.slots.empty() ? 0 : kSleepingChildSpinNs;
  page_->spin_ns = process_ ? stopped_spin_ns : child_spin_ns(wait_mode_, request.command);
  page_->command = request.command;
  page_->seed = request.seed;
  page_->workload = request.workload;
  page_->is_watched = request.is_watched ? 1 : 0;
  if (!request.slots.empty()) {
    store(page_->returned, 0);
    turns_ = 1;
    store(page_->turn, channel::turn_of(turns_, request.slots.front()));
  }
  start_ns_ = clock_ns();
  store(page_->go, ++commands_);
  if (hooks.launch_ns > 0) {
    futex(&page_->go, FUTEX_WAKE, INT_MAX, nullptr);
    wait_for_launches(request, hooks.launch_ns);
    is_early_ = done() == commands_;
    start_ns_ = clock_ns();
    if (hooks.at_start) hooks.at_start();
  } else {
    if (hooks.at_start) hooks.at_start();
    if (process_) process_->resume();
    futex(&page_->go, FUTEX_WAKE, INT_MAX, nullptr);
  }
  // From here on the timed interval runs.
}

// Waits until the child reports that it has launched its work, at most launch_ns from `go` on. A child gains nothing by
// reporting that early: the interval then begins while it still launches.
void Child::wait_for_launches(const CommandRequest& request, std::int64_t launch_ns) {
  while (!has_launched() && done() != commands_ && clock_ns() - start_ns_ < launch_ns) {
    if (!request.slots.empty() && !advance_burst(request.slots)) return;
    relax();
  }
}

Expected<Outcome> Child::finish(const Hooks& hooks) {
  KQ_CHECK(begun_);
  const CommandRequest request = *std::exchange(begun_, std::nullopt);
  if (hung_up_) return wait_for_exit();
  if (is_out_of_turn_) return Malformed{"answered before it was asked"};
  KQ_TRY_VALUE(const auto wake, wait(request, start_ns_, judge_spin_ns(wait_mode_, static_cast<bool>(hooks.at_done))));
  switch (wake) {
    case Wake::done:
      break;
    case Wake::exited:
      return Exited{*exit_};
    case Wake::timed_out:
      return TimedOut{request.limit_ms + (has_launched() ? 0 : request.launch_limit_ms)};
    case Wake::out_of_turn:
      return Malformed{"answered a command it was not given"};
  }
  if (process_) process_->stop();
  if (hooks.at_done) {
    KQ_TRY(hooks.at_done());
  }
  std::int64_t end_ns = clock_ns();
  // Here the timed interval has ended.
  if (auto trouble = end_interval(end_ns); !trouble.empty()) return RanWhileStopped{std::move(trouble)};
  if (!ran_while_stopped_.empty()) return RanWhileStopped{std::exchange(ran_while_stopped_, {})};
  const std::int64_t interval_ns = end_ns - start_ns_;

  Outcome outcome = read_answer(request.command, interval_ns);
  if (const auto* answered = std::get_if<Answered>(&outcome);
      answered != nullptr && answered->ok && !request.slots.empty() && turns_ != request.slots.size() + 1) {
    return Malformed{"left a burst before its end"};
  }
  usable_ = std::holds_alternative<Answered>(outcome);
  return outcome;
}

// Waits until all of the child's process is stopped. A process that the call has forked may have gone on until then, so
// its interval ends then.
std::string Child::end_interval(std::int64_t& end_ns) {
  if (!process_ && !has_sought_process_) find_process();
  if (!process_ || role_ != ChildRole::submission) return {};
  auto trouble = process_->settle();
  if (process_->has_new_descendant()) end_ns = clock_ns();
  return trouble;
}

// Finds the process of a child that has answered its first command, before it runs any code of a job.
void Child::find_process() {
  has_sought_process_ = true;
  process_ = ChildProcess::of_sender(socket_.get());
  if (!process_) return;
  page_->keeps_outputs = process_->can_read() ? 1 : 0;
  process_->stop();
}

void Child::fill_in_process(std::span<const Tensor> outputs, std::uint32_t word) {
  if (process_ == nullptr) return;
  for (const Tensor& output : outputs) {
    if (output.place == channel::Place::process) process_->fill(output.offset, output.bytes, word);
  }
}

std::string Child::runs_without_command() {
  return process_ ? process_->runs_without_command() : std::string();
}

// Announces the next slot of a burst where the call before has returned. Returns false where the child's count of
// returned calls is not one that the protocol allows.
bool Child::advance_burst(std::span<const std::uint16_t> slots) {
  const std::uint32_t returned = load(page_->returned);
  if (returned + 1 == turns_) return true;  // the call still runs
  if (returned != turns_ || turns_ > slots.size()) return false;
  const std::uint32_t slot = turns_ < slots.size() ? slots[turns_] : channel::kNoSlot;
  store(page_->turn, channel::turn_of(++turns_, slot));
  return true;
}

Expected<Child::Wake> Child::wait(const CommandRequest& request, std::int64_t start_ns, std::int64_t spin_ns) {
  const std::int64_t limit_ns = std::min<std::int64_t>(request.limit_ms, INT_MAX) * kMs;
  const std::int64_t launch_deadline_ns = start_ns + request.launch_limit_ms * kMs;
  std::int64_t deadline_ns = start_ns + limit_ns;
  const std::int64_t sleep_max_ns = request.slots.empty() ? kSleepNs : kBurstSleepNs;
  std::int64_t exit_check_ns = start_ns + kExitCheckNs;
  for (;;) {
    const std::uint32_t seen = done();
    if (seen == commands_) return Wake::done;
    if (seen != commands_ - 1) return Wake::out_of_turn;
    if (!request.slots.empty() && !advance_burst(request.slots)) return Wake::out_of_turn;
    const std::int64_t now_ns = clock_ns();
    if (now_ns >= exit_check_ns) {
      exit_check_ns = now_ns + kExitCheckNs;
      KQ_TRY_VALUE(const auto exit, exits_.exit_of(role_, 0));
      exit_ = exit;
      // The child may have answered before it exited.
      if (exit_) return done() == commands_ ? Wake::done : Wake::exited;
    }
    if (now_ns < launch_deadline_ns && !has_launched()) deadline_ns = now_ns + limit_ns;
    if (now_ns >= deadline_ns) return Wake::timed_out;
    if (now_ns - start_ns < spin_ns) {
      for (int i = 0; i < 16; ++i) relax();
      continue;
    }
    const std::int64_t slice_ns = std::min(sleep_max_ns, deadline_ns - now_ns);
    const timespec slice{0, static_cast<long>(slice_ns)};
    futex(&page_->done, FUTEX_WAIT, seen, &slice);
  }
}

Expected<Outcome> Child::wait_for_exit() {
  const std::int64_t deadline_ns = clock_ns() + kExitReportMs * kMs;
  for (;;) {
    const std::int64_t left_ms = (deadline_ns - clock_ns()) / kMs;
    KQ_TRY_VALUE(const auto exit, exits_.exit_of(role_, std::max<std::int64_t>(left_ms, 0)));
    if (exit) return Exited{*exit};
    if (left_ms <= 0) return Malformed{"closed its socket, and its process did not end"};
  }
}

// Copies the answer out of the page and checks the copy. The page is not read again, except for its tables.
Outcome Child::read_answer(Command command, std::int64_t interval_ns) const {
  // The part of the page from `done` up to the tables.
  struct Head {
    std::uint32_t done;
    channel::Status status;
    channel::Failure failure;
    std::uint32_t text_bytes;
    std::int64_t event_ns;
    std::uint64_t slot_bytes;
    std::uint32_t slots, calls, turn, returned;
    char text[channel::kTextMax];
    std::uint32_t input_count, output_count, state_count, launched;
  } head;
  static_assert(sizeof(Head) == offsetof(Page, inputs) - offsetof(Page, done));
  copy_out(&head, &page_->done, sizeof head);

  if (head.status != channel::Status::ok && head.status != channel::Status::failed)
    return Malformed{"an unknown status"};
  if (head.failure > channel::Failure::wrong_form) return Malformed{"an unknown failure"};
  if (head.text_bytes > channel::kTextMax) return Malformed{"a text of " + std::to_string(head.text_bytes) + " bytes"};
  Answered answered{.ok = head.status == channel::Status::ok,
                    .failure = head.failure,
                    .text = sys::printable(std::string_view(head.text, head.text_bytes), channel::kTextMax),
                    .event_ns = head.event_ns,
                    .workloads = {},
                    .tables = {},
                    .interval_ns = interval_ns,
                    .has_check = false,
                    .has_forbidden = false,
                    .wants_own_kernels = false,
                    .is_early = is_early_,
                    .trees = {}};
  if (command == Command::load && role_ == ChildRole::reference) {
    auto workloads = read_workloads();
    if (!workloads && answered.ok) return Malformed{workloads.error()};
    if (workloads) answered.workloads = std::move(*workloads);
  }
  if (!answered.ok) return answered;
  auto filled = read_tables(command, head.input_count, head.output_count, head.state_count);
  if (!filled) return Malformed{filled.error()};
  answered.tables = std::move(*filled);
  if (command != Command::load || role_ != ChildRole::reference) return answered;
  auto inputs = read_tree(page_->input_tree, page_->input_tree_bytes, "inputs");
  if (!inputs) return Malformed{inputs.error()};
  auto outputs = read_tree(page_->output_tree, page_->output_tree_bytes, "outputs");
  if (!outputs) return Malformed{outputs.error()};
  std::uint32_t has_check = 0;
  copy_out(&has_check, &page_->has_check, sizeof has_check);
  answered.has_check = has_check == 1;
  std::uint32_t has_forbidden = 0;
  copy_out(&has_forbidden, &page_->has_forbidden, sizeof has_forbidden);
  answered.has_forbidden = has_forbidden == 1;
  std::uint32_t wants_own_kernels = 0;
  copy_out(&wants_own_kernels, &page_->wants_own_kernels, sizeof wants_own_kernels);
  answered.wants_own_kernels = wants_own_kernels == 1;
  answered.trees = {.inputs = std::move(*inputs), .outputs = std::move(*outputs)};
  return answered;
}

// Copies and checks the table of workloads.
tl::expected<std::vector<WorkloadRow>, std::string> Child::read_workloads() const {
  std::uint32_t count = 0;
  copy_out(&count, &page_->workload_count, sizeof count);
  if (count == 0 || count > channel::kWorkloadsMax)
    return tl::unexpected(std::to_string(count) + " workloads, 1 to " + std::to_string(channel::kWorkloadsMax));
  std::vector<channel::WorkloadDesc> copy(count);
  copy_out(copy.data(), page_->workloads, copy.size() * sizeof(channel::WorkloadDesc));
  return read_workload_table(copy);
}

// Copies and checks the tables that this command fills.
tl::expected<Tables, std::string> Child::read_tables(Command command, std::uint32_t input_count,
                                                     std::uint32_t output_count, std::uint32_t state_count) const {
  const bool is_description = command == Command::load && role_ == ChildRole::reference;
  Tables tables;
  if (is_description || command == Command::make_inputs || command == Command::answer) {
    KQ_TRY_VALUE(auto rows, read_rows(page_->inputs, input_count, channel::kInputsMax, "input", Strides::read));
    tables.inputs = std::move(rows);
  }
  if (is_description || command == Command::call || command == Command::call_compiled || command == Command::burst ||
      command == Command::answer) {
    KQ_TRY_VALUE(auto rows, read_rows(page_->outputs, output_count, channel::kOutputsMax, "output"));
    tables.outputs = std::move(rows);
  }
  if (is_description) {
    std::vector<channel::ToleranceDesc> tolerances(channel::kOutputsMax);
    copy_out(tolerances.data(), page_->tolerances, sizeof page_->tolerances);
    KQ_TRY(read_tolerances(tolerances, tables.outputs));
  }
  if (is_description) {
    KQ_TRY_VALUE(auto rows, read_rows(page_->states, state_count, channel::kStatesMax, "state"));
    tables.states = std::move(rows);
    if (std::ranges::any_of(tables.states, [](const Tensor& state) { return state.kind != channel::Kind::tensor; })) {
      return tl::unexpected<std::string>("a state that is no tensor");
    }
  }
  return tables;
}

}  // namespace kq::judge
