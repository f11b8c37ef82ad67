#include "gpu_worker/judge/child/child.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
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

namespace kq::judge {
namespace {

using channel::Command;
using channel::Page;
using channel::TensorDesc;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kSliceNs = 2 * kMs;     // how long the judge sleeps before it looks around
constexpr std::int64_t kTurnSliceNs = 50'000;  // and in a burst, where the child waits for it
constexpr std::int64_t kLookNs = 1 * kMs;      // how often it looks around while it spins
constexpr std::int64_t kSpinNs =
    1'000 * kMs;  // spins no longer: of a call that long, a wake-up is no part worth a core
constexpr std::uint64_t kChildSpinNs = 50 * kMs;  // covers what the judge does between waking a child and `go`
constexpr std::uint64_t kChildNapNs = 1 * kMs;    // of a child that sleeps: what follows at once finds it awake
constexpr std::int64_t kExitNoticeMs = 2'000;     // between a closed socket and control's word that the child ended

std::string system_error(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

long futex(std::uint32_t* word, int operation, std::uint32_t value, const timespec* timeout) {
  return ::syscall(SYS_futex, word, operation, value, timeout, nullptr, 0);
}

// The words of the page that both sides write at any time are only ever reached through these two.
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

// Copies out of the page, once: the compiler may not read the page again later.
void copy_out(void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  asm volatile("" : : "r"(to) : "memory");
}

void write_rows(TensorDesc* rows, std::uint32_t& rows_n, std::size_t rows_max, const std::vector<Tensor>& tensors) {
  KQ_CHECK(tensors.size() <= rows_max);
  std::ranges::transform(tensors, rows, row_of);
  rows_n = static_cast<std::uint32_t>(tensors.size());
}

tl::expected<std::vector<Tensor>, std::string> read_rows(const TensorDesc* rows, std::uint32_t rows_n,
                                                         std::uint32_t rows_max, const std::string& what) {
  if (rows_n > rows_max)
    return tl::unexpected(std::to_string(rows_n) + " " + what + "s, at most " + std::to_string(rows_max));
  std::vector<TensorDesc> copy(rows_n);
  copy_out(copy.data(), rows, copy.size() * sizeof(TensorDesc));
  return read_table(copy, what);
}

}  // namespace

std::int64_t clock_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

Expected<std::unique_ptr<Child>> Child::start(sys::Fd socket, ChildRole role, Exits& exits, Waiting waiting) {
  const sys::Fd file(::memfd_create("kq-page", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) return our_fault(system_error("memfd_create for a channel page"));
  if (::ftruncate(file.get(), sizeof(Page)) != 0) return our_fault(system_error("ftruncate of a channel page"));
  // A child that shrank the file would make the judge die of SIGBUS.
  if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return our_fault(system_error("sealing a channel page"));
  }
  void* const at = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (at == MAP_FAILED) return our_fault(system_error("mmap of a channel page"));

  auto* const page = static_cast<Page*>(at);
  page->magic = channel::kMagic;
  page->page_bytes = sizeof(Page);
  page->spin_ns = waiting == Waiting::spin ? kChildSpinNs : kChildNapNs;
  std::unique_ptr<Child> child(new Child(std::move(socket), role, exits, waiting, page));
  child->send('P', file.get());
  return child;
}

Child::Child(sys::Fd socket, ChildRole role, Exits& exits, Waiting waiting, Page* page)
    : socket_(std::move(socket)), role_(role), exits_(exits), waiting_(waiting), page_(page) {}

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

void Child::send_window(const Memory& window, const Arena& arena) {
  page_->window_bytes = window.bytes();
  page_->arena_bytes = arena.memory == &window ? arena.bytes() : 0;
  send('W', window.fd());
}

void Child::lay_slots(std::uint32_t slots, std::uint64_t slot_bytes, std::uint32_t calls) {
  page_->slots = slots;
  page_->slot_bytes = slot_bytes;
  page_->calls = calls;
}

void Child::lay_touch(std::uint64_t bytes) {
  page_->touch_bytes = bytes;
}

void Child::lay_answers(std::span<const channel::Seeds> answers) {
  KQ_CHECK(answers.size() <= channel::kAnswersMax);
  std::ranges::copy(answers, page_->answers);
  page_->answer_count = answers.size();
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

Expected<Outcome> Child::command(const Order& order, const Hooks& hooks) {
  begin(order, hooks);
  return finish(hooks);
}

void Child::begin(const Order& order, const Hooks& hooks) {
  KQ_CHECK(usable_);
  usable_ = false;  // until it has answered
  begun_ = order;
  is_out_of_turn_ = done() != commands_;
  is_early_ = false;
  if (hung_up_ || is_out_of_turn_) {
    if (hooks.at_start) hooks.at_start();
    return;
  }
  page_->command = order.command;
  page_->seed = order.seed;
  if (!order.slots.empty()) {
    store(page_->returned, 0);
    turns_ = 1;
    store(page_->turn, channel::turn_of(turns_, order.slots.front()));
  }
  start_ns_ = clock_ns();
  store(page_->go, ++commands_);
  if (hooks.launch_ns > 0) {
    futex(&page_->go, FUTEX_WAKE, INT_MAX, nullptr);
    wait_for_launches(order, hooks.launch_ns);
    is_early_ = done() == commands_;
    start_ns_ = clock_ns();
    if (hooks.at_start) hooks.at_start();
  } else {
    if (hooks.at_start) hooks.at_start();
    futex(&page_->go, FUTEX_WAKE, INT_MAX, nullptr);
  }
  // The bracket is open.
}

// Who says so too early is timed while it launches.
void Child::wait_for_launches(const Order& order, std::int64_t launch_ns) {
  while (!has_launched() && done() != commands_ && clock_ns() - start_ns_ < launch_ns) {
    if (!order.slots.empty() && !name_slots(order.slots)) return;
    relax();
  }
}

Expected<Outcome> Child::finish(const Hooks& hooks) {
  KQ_CHECK(begun_);
  const Order order = *std::exchange(begun_, std::nullopt);
  if (hung_up_) return gone();
  if (is_out_of_turn_) return Malformed{"answered before it was asked"};
  KQ_TRY_VALUE(const auto wake, wait(order, start_ns_));
  switch (wake) {
    case Wake::done:
      break;
    case Wake::exited:
      return Exited{*exit_};
    case Wake::timed_out:
      return TimedOut{order.limit_ms + (has_launched() ? 0 : order.launch_limit_ms)};
    case Wake::out_of_turn:
      return Malformed{"answered a command it was not given"};
  }
  if (hooks.at_done) {
    KQ_TRY(hooks.at_done());
  }
  const std::int64_t bracket_ns = clock_ns() - start_ns_;
  // The bracket is closed.

  Outcome outcome = answer(order.command, bracket_ns);
  if (const auto* answered = std::get_if<Answered>(&outcome);
      answered != nullptr && answered->ok && !order.slots.empty() && turns_ != order.slots.size() + 1) {
    return Malformed{"left a burst before its end"};
  }
  usable_ = std::holds_alternative<Answered>(outcome);
  return outcome;
}

// Names the next slot where the call before has returned. False: the child counts otherwise than an honest one.
bool Child::name_slots(std::span<const std::uint16_t> slots) {
  const std::uint32_t returned = load(page_->returned);
  if (returned + 1 == turns_) return true;  // it is at it
  if (returned != turns_ || turns_ > slots.size()) return false;
  const std::uint32_t slot = turns_ < slots.size() ? slots[turns_] : channel::kNoSlot;
  store(page_->turn, channel::turn_of(++turns_, slot));
  return true;
}

Expected<Child::Wake> Child::wait(const Order& order, std::int64_t start_ns) {
  const std::int64_t limit_ns = std::min<std::int64_t>(order.limit_ms, INT_MAX) * kMs;
  const std::int64_t launch_deadline_ns = start_ns + order.launch_limit_ms * kMs;
  std::int64_t deadline_ns = start_ns + limit_ns;
  const std::int64_t longest_sleep_ns = order.slots.empty() ? kSliceNs : kTurnSliceNs;
  std::int64_t look_ns = start_ns + kLookNs;
  for (;;) {
    const std::uint32_t seen = done();
    if (seen == commands_) return Wake::done;
    if (seen != commands_ - 1) return Wake::out_of_turn;
    if (!order.slots.empty() && !name_slots(order.slots)) return Wake::out_of_turn;
    const std::int64_t now_ns = clock_ns();
    if (now_ns >= look_ns) {
      look_ns = now_ns + kLookNs;
      KQ_TRY_VALUE(const auto exit, exits_.exit_of(role_, 0));
      exit_ = exit;
      // It may have answered before it ended.
      if (exit_) return done() == commands_ ? Wake::done : Wake::exited;
    }
    if (now_ns < launch_deadline_ns && !has_launched()) deadline_ns = now_ns + limit_ns;
    if (now_ns >= deadline_ns) return Wake::timed_out;
    if (waiting_ == Waiting::spin && now_ns - start_ns < kSpinNs) {
      for (int i = 0; i < 16; ++i) relax();
      continue;
    }
    const std::int64_t slice_ns = std::min(longest_sleep_ns, deadline_ns - now_ns);
    const timespec slice{0, static_cast<long>(slice_ns)};
    futex(&page_->done, FUTEX_WAIT, seen, &slice);
  }
}

Expected<Outcome> Child::gone() {
  const std::int64_t deadline_ns = clock_ns() + kExitNoticeMs * kMs;
  for (;;) {
    const std::int64_t left_ms = (deadline_ns - clock_ns()) / kMs;
    KQ_TRY_VALUE(const auto exit, exits_.exit_of(role_, std::max<std::int64_t>(left_ms, 0)));
    if (exit) return Exited{*exit};
    if (left_ms <= 0) return Malformed{"closed its socket and lives on"};
  }
}

// From here on only a copy is looked at.
Outcome Child::answer(Command command, std::int64_t bracket_ns) const {
  // The page from `done` up to its tables.
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
  if (head.failure > channel::Failure::problem_invalid) return Malformed{"an unknown failure"};
  if (head.text_bytes > channel::kTextMax) return Malformed{"a text of " + std::to_string(head.text_bytes) + " bytes"};
  Answered answered{.ok = head.status == channel::Status::ok,
                    .failure = head.failure,
                    .text = sys::printable(std::string_view(head.text, head.text_bytes), channel::kTextMax),
                    .event_ns = head.event_ns,
                    .tables = {},
                    .bracket_ns = bracket_ns,
                    .is_early = is_early_};
  if (!answered.ok) return answered;
  auto filled = tables(command, head.input_count, head.output_count, head.state_count);
  if (!filled) return Malformed{filled.error()};
  answered.tables = std::move(*filled);
  return answered;
}

// The tables that this command fills.
tl::expected<Tables, std::string> Child::tables(Command command, std::uint32_t input_count, std::uint32_t output_count,
                                                std::uint32_t state_count) const {
  const bool is_description = command == Command::load && role_ == ChildRole::reference;
  Tables tables;
  if (is_description || command == Command::make_inputs || command == Command::answer) {
    KQ_TRY_VALUE(auto rows, read_rows(page_->inputs, input_count, channel::kInputsMax, "input"));
    tables.inputs = std::move(rows);
  }
  if (is_description || command == Command::call || command == Command::call_compiled || command == Command::burst ||
      command == Command::answer) {
    KQ_TRY_VALUE(auto rows, read_rows(page_->outputs, output_count, channel::kOutputsMax, "output"));
    tables.outputs = std::move(rows);
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
