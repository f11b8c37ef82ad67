// The child's side of the page: it waits for `go`, posts `done`, and answers what the layout of the page is, by name.
#include "gpu_worker/channel/channel.h"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <iterator>
#include <string_view>

#include "gpu_worker/child/runtime/audit.h"
#include "gpu_worker/child/runtime/call_clock.h"
#include "gpu_worker/child/runtime/runtime.h"

namespace kq::runtime {
namespace {

using channel::Page;
using channel::Seeds;
using channel::TensorDesc;
using channel::ToleranceDesc;
using channel::TruthOrder;
using channel::WorkloadDesc;

struct Field {
  std::string_view name;
  std::size_t value;
};

#define KQ_FIELD(type, field) \
  { #type "." #field, offsetof(type, field) }
constexpr Field kLayout[] = {{"sizeof Page", sizeof(Page)},
                             {"sizeof TensorDesc", sizeof(TensorDesc)},
                             {"magic", channel::kMagic},
                             {"inputs_max", channel::kInputsMax},
                             {"outputs_max", channel::kOutputsMax},
                             {"states_max", channel::kStatesMax},
                             {"dims_max", channel::kDimsMax},
                             {"answers_max", channel::kAnswersMax},
                             {"sizeof Seeds", sizeof(Seeds)},
                             {"sizeof WorkloadDesc", sizeof(WorkloadDesc)},
                             {"workloads_max", channel::kWorkloadsMax},
                             {"sizeof ToleranceDesc", sizeof(ToleranceDesc)},
                             {"sizeof TruthOrder", sizeof(TruthOrder)},
                             {"text_max", channel::kTextMax},
                             {"tree_max", channel::kTreeMax},
                             {"align", channel::kAlign},
                             KQ_FIELD(Page, magic),
                             KQ_FIELD(Page, page_bytes),
                             KQ_FIELD(Page, go),
                             KQ_FIELD(Page, command),
                             KQ_FIELD(Page, seed),
                             KQ_FIELD(Page, answer_count),
                             KQ_FIELD(Page, spin_ns),
                             KQ_FIELD(Page, window_bytes),
                             KQ_FIELD(Page, arena_bytes),
                             KQ_FIELD(Page, touch_bytes),
                             KQ_FIELD(Page, done),
                             KQ_FIELD(Page, status),
                             KQ_FIELD(Page, failure),
                             KQ_FIELD(Page, text_bytes),
                             KQ_FIELD(Page, event_ns),
                             KQ_FIELD(Page, slot_bytes),
                             KQ_FIELD(Page, slots),
                             KQ_FIELD(Page, calls),
                             KQ_FIELD(Page, turn),
                             KQ_FIELD(Page, returned),
                             KQ_FIELD(Page, text),
                             KQ_FIELD(Page, input_count),
                             KQ_FIELD(Page, output_count),
                             KQ_FIELD(Page, state_count),
                             KQ_FIELD(Page, launched),
                             KQ_FIELD(Page, inputs),
                             KQ_FIELD(Page, outputs),
                             KQ_FIELD(Page, states),
                             KQ_FIELD(Page, answers),
                             KQ_FIELD(Page, workload),
                             KQ_FIELD(Page, workload_count),
                             KQ_FIELD(Page, workloads),
                             KQ_FIELD(Page, tolerances),
                             KQ_FIELD(ToleranceDesc, rtol),
                             KQ_FIELD(ToleranceDesc, atol),
                             KQ_FIELD(ToleranceDesc, matched),
                             KQ_FIELD(WorkloadDesc, name),
                             KQ_FIELD(WorkloadDesc, weight),
                             KQ_FIELD(Page, input_tree_bytes),
                             KQ_FIELD(Page, output_tree_bytes),
                             KQ_FIELD(Page, input_tree),
                             KQ_FIELD(Page, output_tree),
                             KQ_FIELD(Page, truth),
                             KQ_FIELD(Seeds, inputs),
                             KQ_FIELD(Seeds, calls),
                             KQ_FIELD(Page, has_check),
                             KQ_FIELD(Page, has_forbidden),
                             KQ_FIELD(Page, keeps_outputs),
                             KQ_FIELD(Page, is_watched),
                             KQ_FIELD(Page, wants_own_kernels),
                             KQ_FIELD(TruthOrder, kind),
                             KQ_FIELD(TruthOrder, rounding),
                             KQ_FIELD(TruthOrder, is_device_memory),
                             KQ_FIELD(TensorDesc, name),
                             KQ_FIELD(TensorDesc, kind),
                             KQ_FIELD(TensorDesc, dtype),
                             KQ_FIELD(TensorDesc, ndim),
                             KQ_FIELD(TensorDesc, place),
                             KQ_FIELD(TensorDesc, shape),
                             KQ_FIELD(TensorDesc, offset),
                             KQ_FIELD(TensorDesc, bytes),
                             KQ_FIELD(TensorDesc, integer),
                             KQ_FIELD(TensorDesc, real),
                             KQ_FIELD(TensorDesc, is_strided),
                             KQ_FIELD(TensorDesc, reserved),
                             KQ_FIELD(TensorDesc, strides)};
#undef KQ_FIELD

// How often the word is polled between two readings of the clock, which cost 20 ns each.
constexpr int kPollsPerClock = 64;

constexpr std::int64_t kTurnLimitNs = 10'000'000'000;  // a judge that names no slot for this long is gone
constexpr unsigned kTurnSleepUs = 20;

std::int64_t now_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Sleeps while *word is `value`, at most until the timeout. The word is shared with another process, so the futex is
// not a private one.
void sleep_while(std::uint32_t* word, std::uint32_t value, std::int64_t timeout_ns) {
  const timespec timeout{timeout_ns / 1'000'000'000, timeout_ns % 1'000'000'000};
  ::syscall(SYS_futex, word, FUTEX_WAIT, value, &timeout, nullptr, 0);
}

std::uint32_t load(const std::uint32_t& word) {
  return std::atomic_ref<std::uint32_t>(const_cast<std::uint32_t&>(word)).load(std::memory_order_acquire);
}

bool wait_go(Page& page, std::uint32_t go_seen, std::int64_t timeout_ns) {
  const std::int64_t start = now_ns();
  const std::int64_t deadline = start + timeout_ns;
  const std::int64_t spin_until = start + std::min<std::int64_t>(timeout_ns, static_cast<std::int64_t>(page.spin_ns));
  do {
    for (int poll = 0; poll < kPollsPerClock; ++poll) {
      if (load(page.go) != go_seen) return true;
      relax();
    }
  } while (now_ns() < spin_until);
  while (load(page.go) == go_seen) {
    const std::int64_t left = deadline - now_ns();
    if (left <= 0) return false;
    sleep_while(&page.go, go_seen, left);
  }
  return true;
}

}  // namespace
}  // namespace kq::runtime

std::int64_t kq_layout(const char* name) {
  const auto* field = std::find_if(std::begin(kq::runtime::kLayout), std::end(kq::runtime::kLayout),
                                   [&](const kq::runtime::Field& f) { return f.name == name; });
  return field == std::end(kq::runtime::kLayout) ? -1 : static_cast<std::int64_t>(field->value);
}

int kq_wait_go(void* page, std::uint32_t go_seen, std::int64_t timeout_ns) {
  return kq::runtime::wait_go(*static_cast<kq::channel::Page*>(page), go_seen, timeout_ns) ? 1 : 0;
}

void kq_begin(void* page) {
  if (!kq::channel::is_staging(static_cast<kq::channel::Page*>(page)->command)) kq::runtime::start_call_clock();
  kq::runtime::set_waiting(false);  // later copies lie in the stream behind the clock's first event
}

int kq_next_slot(void* at, std::uint32_t returned) {
  auto& page = *static_cast<kq::channel::Page*>(at);
  std::atomic_ref(page.returned).store(returned, std::memory_order_release);
  const std::int64_t start = kq::runtime::now_ns();
  for (;;) {
    for (int poll = 0; poll < kq::runtime::kPollsPerClock; ++poll) {
      const std::uint32_t turn = kq::runtime::load(page.turn);
      const std::uint32_t slot = turn & kq::channel::kNoSlot;
      if (turn >> 16 == returned + 1) return slot == kq::channel::kNoSlot ? -1 : static_cast<int>(slot);
      kq::runtime::relax();
    }
    const std::int64_t waited = kq::runtime::now_ns() - start;
    if (waited > kq::runtime::kTurnLimitNs) return -1;
    if (waited > static_cast<std::int64_t>(page.spin_ns)) ::usleep(kq::runtime::kTurnSleepUs);
  }
}

int kq_finish(void* at, std::uint32_t number) {
  auto& page = *static_cast<kq::channel::Page*>(at);
  page.event_ns = 0;
  if (kq::channel::is_staging(page.command)) return 0;
  const bool is_noted = kq::runtime::stop_call_clock();
  std::atomic_ref(page.launched).store(number, std::memory_order_release);
  std::int64_t event_ns = 0;
  if (!is_noted || !kq::runtime::read_call_clock(event_ns)) return -1;
  page.event_ns = event_ns;
  return 0;
}

int kq_complete(void* page, std::uint32_t done) {
  if (kq_finish(page, done) != 0) return -1;
  kq_post_done(page, done);
  return 0;
}

void kq_post_done(void* page, std::uint32_t done) {
  kq::runtime::set_waiting(true);
  std::uint32_t& word = static_cast<kq::channel::Page*>(page)->done;
  std::atomic_ref<std::uint32_t>(word).store(done, std::memory_order_release);
  ::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0);
}

void* kq_map_shared(int fd, std::size_t bytes) {
  void* address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return address == MAP_FAILED ? nullptr : address;
}

void kq_unmap_shared(void* address, std::size_t bytes) {
  ::munmap(address, bytes);
}
