// The judge against children that write into the shared page and the window whatever the input says, whenever it says
// it.
//
// The input is a list of pokes: who (reference or submission), after which of its commands, where, how many bytes, the
// bytes. Apart from the pokes the children do what is asked, on a thread of this process.
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

constexpr std::size_t kPokesMax = 32;
constexpr std::uint64_t kTensorBytes = 32;  // of the longest tensor of fake_problem.h

struct Poke {
  bool is_reference = false;
  Command after = Command::none;
  std::uint8_t place = 0;
  std::uint16_t offset = 0;
  std::string_view bytes;
};

std::vector<Poke> take_pokes(std::string_view rest) {
  std::vector<Poke> pokes;
  while (!rest.empty() && pokes.size() < kPokesMax) {
    const std::uint8_t who_and_when = fuzz::take_byte(rest);
    Poke& poke = pokes.emplace_back();
    poke.is_reference = who_and_when % 2 == 0;
    poke.after = static_cast<Command>(who_and_when / 2 % 8);
    poke.place = fuzz::take_byte(rest);
    poke.offset = static_cast<std::uint16_t>(fuzz::take_byte(rest) | fuzz::take_byte(rest) << 8);
    poke.bytes = fuzz::take(rest, fuzz::take_byte(rest));
  }
  return pokes;
}

// Where a poke lands: the interesting parts of the page are small beside its tables.
void apply(const Poke& poke, judge::FakeTurn& turn) {
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
  const Part& part = parts[poke.place % parts.size()];
  if (poke.offset >= part.bytes) return;
  std::memcpy(part.at + poke.offset, poke.bytes.data(),
              std::min<std::uint64_t>(poke.bytes.size(), part.bytes - poke.offset));
}

// A child that never trusts the page itself: what it does with its window stays inside.
judge::FakeChild::Script child_of(bool is_reference, const std::vector<Poke>& pokes) {
  return [is_reference, &pokes](judge::FakeTurn& turn) {
    if (is_reference && turn.command == Command::load) judge::fake_describe(turn);
    if (turn.command == Command::call && turn.window != nullptr) {
      for (const std::size_t i : {0u, 1u}) {
        const std::uint64_t offset = turn.page.outputs[i].offset;
        const std::uint64_t bytes = std::min(turn.page.outputs[i].bytes, kTensorBytes);
        if (offset < turn.window_bytes && bytes <= turn.window_bytes - offset)
          std::memset(turn.window + offset, 0, bytes);
      }
    }
    for (const Poke& poke : pokes) {
      if (poke.is_reference == is_reference && poke.after == turn.command) apply(poke, turn);
    }
  };
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<Poke> pokes = take_pokes(fuzz::text_of(data, size));
  judge::JudgeFixture fixture;
  fixture.plan.trials = {.correctness = 1, .warmup = 0, .timed = 1};
  judge::FakeChild reference(child_of(true, pokes));
  judge::FakeChild submission(child_of(false, pokes));
  judge::FakeChild calibrator([](judge::FakeTurn&) {});
  const Report report =
      fixture.judge->run(fixture.plan, {calibrator.take_socket(), reference.take_socket(), submission.take_socket()});

  KQ_CHECK(report.id == fixture.plan.id && report.verdict.has_value() != !report.error.empty());
  if (!report.verdict) return 0;
  // The broker gets the report unchanged.
  const Evidence* evidence = evidence_of(*report.verdict);
  if (evidence != nullptr) KQ_CHECK(evidence->message.size() <= kMessageTextMax);
  // The honest reference draws nothing, so every call has the same inputs.
  if (pokes.empty()) KQ_CHECK(name_of(*report.verdict) == VerdictName::suspect && evidence->reason == "inputs");
  return 0;
}
