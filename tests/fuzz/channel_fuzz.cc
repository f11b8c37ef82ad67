// Fuzzes the judge with children that write arbitrary bytes into the shared page and the window.
//
// The input is a list of writes. Each has the child that writes (reference or submission), the command after which the
// child writes, the place, the length and the bytes. Apart from these writes the children, which are threads of this
// process, do what the judge commands.
#include <algorithm>
#include <array>
#include <cstring>

#include "core/base/check.h"
#include "core/limits.h"
#include "gpu_worker/judge/attempt.h"
#include "gpu_worker/judge/testing/fake_problem.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;
using namespace kq::judge;
using channel::Command;
using channel::Page;

namespace {

constexpr std::size_t kWritesMax = 32;
// The limits of commands and calls where a child writes. A write may make the child miss a command, for whose answer
// the judge then waits. With the limits of other tests, which only hanging children reach, it would wait for a minute.
constexpr std::uint32_t kLimitMs = 2'000;
constexpr std::uint64_t kTensorBytes = 32;  // the size of the longest tensor in fake_problem.h

struct MemoryWrite {
  bool is_reference = false;
  Command after = Command::none;
  std::uint8_t place = 0;
  std::uint16_t offset = 0;
  std::string_view bytes;
};

std::vector<MemoryWrite> take_writes(std::string_view rest) {
  std::vector<MemoryWrite> writes;
  while (!rest.empty() && writes.size() < kWritesMax) {
    const std::uint8_t child_and_command = fuzz::take_byte(rest);
    MemoryWrite& write = writes.emplace_back();
    write.is_reference = child_and_command % 2 == 0;
    write.after = static_cast<Command>(child_and_command / 2 % 8);
    write.place = fuzz::take_byte(rest);
    write.offset = static_cast<std::uint16_t>(fuzz::take_byte(rest) | fuzz::take_byte(rest) << 8);
    write.bytes = fuzz::take(rest, fuzz::take_byte(rest));
  }
  return writes;
}

// Applies a write to one of six parts of the memory. The page is split, because its small parts matter as much as its
// tables.
void apply(const MemoryWrite& write, judge::FakeTurn& turn) {
  char* const page = reinterpret_cast<char*>(&turn.page);
  struct Part {
    char* at;
    std::uint64_t bytes;
  };
  const std::array<Part, 6> parts{{{page, offsetof(Page, done)},
                                   {page + offsetof(Page, done), offsetof(Page, inputs) - offsetof(Page, done)},
                                   {page + offsetof(Page, inputs), sizeof turn.page.inputs},
                                   {page + offsetof(Page, outputs), sizeof turn.page.outputs},
                                   {page + offsetof(Page, states), sizeof turn.page.states},
                                   {turn.window, turn.window == nullptr ? 0 : turn.window_bytes}}};
  const Part& part = parts[write.place % parts.size()];
  if (write.offset >= part.bytes) return;
  std::memcpy(part.at + write.offset, write.bytes.data(),
              std::min<std::uint64_t>(write.bytes.size(), part.bytes - write.offset));
}

// Returns a child that stays inside its window, whatever offsets the page has.
judge::FakeChild::Script child_of(bool is_reference, const std::vector<MemoryWrite>& writes) {
  return [is_reference, &writes](judge::FakeTurn& turn) {
    if (is_reference && turn.command == Command::load) judge::fake_describe(turn);
    if (turn.command == Command::call && turn.window != nullptr) {
      for (const std::size_t i : {0u, 1u}) {
        const std::uint64_t offset = turn.page.outputs[i].offset;
        const std::uint64_t bytes = std::min(turn.page.outputs[i].bytes, kTensorBytes);
        if (offset < turn.window_bytes && bytes <= turn.window_bytes - offset)
          std::memset(turn.window + offset, 0, bytes);
      }
    }
    for (const MemoryWrite& write : writes) {
      if (write.is_reference == is_reference && write.after == turn.command) apply(write, turn);
    }
  };
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<MemoryWrite> writes = take_writes(fuzz::text_of(data, size));
  judge::JudgeFixture fixture;
  fixture.plan.trials = {.correctness = 1, .warmup = 0, .timed = 1};
  if (!writes.empty()) fixture.plan.limits.load_limit_ms = fixture.plan.limits.call_limit_ms = kLimitMs;
  judge::FakeChild reference(child_of(true, writes));
  judge::FakeChild submission(child_of(false, writes));
  judge::FakeChild calibrator([](judge::FakeTurn&) {});
  const Report report =
      fixture.judge->run(fixture.plan, {calibrator.take_socket(), reference.take_socket(), submission.take_socket()});

  KQ_CHECK(report.id == fixture.plan.id && report.verdict.has_value() != !report.error.empty());
  if (!report.verdict) return 0;
  // The report is sent to the broker unchanged, so its texts must be short.
  const Evidence* evidence = evidence_of(*report.verdict);
  if (evidence != nullptr) KQ_CHECK(evidence->message.size() <= kMessageTextMax);
  // Without writes the reference has the same inputs for each call, so the judge finds the input-change check violated.
  if (writes.empty()) KQ_CHECK(name_of(*report.verdict) == VerdictName::suspect && evidence->reason == "inputs");
  return 0;
}
