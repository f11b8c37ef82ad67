// Fuzzes the reading of a store with arbitrary records. A reader must return a value or an error that names the family.
#include "core/base/check.h"
#include "store/keys.h"
#include "store/memory_store.h"
#include "store/reader.h"
#include "tests/fuzz/fuzz.h"

using namespace kq;

namespace {

constexpr Sequence kSeqMax = 4;  // few, so that records refer to each other
const std::string kRun = "r";

// Takes one record from the input: one byte selects the family, one the key, two are the length, and the value follows.
std::optional<store::Write> take_write(std::string_view& rest) {
  if (rest.empty()) return std::nullopt;
  store::Write write{};
  write.family = static_cast<store::Family>(fuzz::take_byte(rest) % kEnumNames<store::Family>.size());
  const std::uint8_t key = fuzz::take_byte(rest);
  switch (write.family) {
    case store::Family::ids:
    case store::Family::blob:
    case store::Family::board:
      write.key = store::hash_key(sha256(std::string(1, static_cast<char>(key % kSeqMax))));
      break;
    case store::Family::run:
      write.key = store::run_key(kRun, std::to_string(key % kSeqMax));
      break;
    case store::Family::meta:
      write.key = store::kNextSequenceKey;
      break;
    default:
      write.key = store::sequence_key(key % kSeqMax);
  }
  const std::size_t size =
      static_cast<std::size_t>(fuzz::take_byte(rest)) | static_cast<std::size_t>(fuzz::take_byte(rest)) << 8;
  write.value = std::string(fuzz::take(rest, size));
  return write;
}

template <class T>
void check(const Expected<T>& answer) {
  if (!answer)
    KQ_CHECK(answer.error().kind == ErrorKind::our_fault && answer.error().message.starts_with("store, family"));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  store::MemoryStore store;
  std::string_view rest = fuzz::text_of(data, size);
  while (const auto write = take_write(rest)) KQ_CHECK(store.commit(std::span(&*write, 1)));
  for (Sequence seq = 0; seq < kSeqMax; ++seq) {
    check(store::read_job(store, seq));
    check(store::read_body(store, seq));
    check(store::read_result(store, seq, true));
    check(store::find_key(store, sha256(std::string(1, static_cast<char>(seq)))));
  }
  RunQuery run{};
  run.run = kRun;
  run.limit = 2;
  run.with_samples = true;
  check(store::read_run(store, run));
  BoardQuery board{};
  board.limit = 2;
  check(store::read_board(store, board));
  return 0;
}
