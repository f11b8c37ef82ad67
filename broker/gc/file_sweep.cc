#include "broker/gc/file_sweep.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "broker/core/state.h"
#include "core/codec/codec.h"
#include "store/keys.h"

namespace kq::broker {

bool wants_files_swept(const State& state, std::int64_t now_ms) {
  const Retention& walk = state.retention;
  if (walk.removed_n == 0) return false;
  return walk.removed_n >= (state.next_sequence - walk.from) / 4 ||
         now_ms >= walk.files_at_ms + state.options.files_rest_ms;
}

Expected<bool> name_some(Step& step) {
  Retention& walk = step.state.retention;
  const Sequence end = std::min(walk.at + Retention::kSpanPerStep, step.state.next_sequence);
  bool is_whole = true;  // the span was seen to its end
  std::size_t read_n = 0;
  std::optional<Error> damage;
  const auto visit = [&](std::string_view key, std::string_view value) {
    is_whole = read_n++ < step.state.options.records_read_per_step_max;
    if (!is_whole) return false;
    const auto submission = decode<Submission>(value);
    const auto seq = store::sequence_from(key);
    if (!submission || !seq) {
      damage = Error{ErrorKind::our_fault,
                     "store, family 'body': " + (submission ? "a key is unreadable" : submission.error().message)};
      return false;
    }
    walk.name_files(*submission);
    walk.at = *seq + 1;
    return true;
  };
  if (auto scanned =
          step.state.store->scan(store::Family::body, store::sequence_key(walk.at), store::sequence_key(end), visit);
      !scanned) {
    return failure(std::move(scanned.error()));
  }
  if (damage) return failure(std::move(*damage));
  if (is_whole) walk.at = end;
  return is_whole && end == step.state.next_sequence;
}

Expected<bool> remove_some_files(Step& step) {
  Retention& walk = step.state.retention;
  bool is_over = true;
  std::size_t read_n = 0;
  bool well_formed = true;
  const auto visit = [&](std::string_view key, std::string_view) {
    is_over = read_n++ < step.state.options.files_read_per_step_max;
    if (!is_over) return false;
    const auto hash = hash_from_bytes(key.substr(0, sizeof(Hash::bytes)));
    well_formed = hash.has_value();
    if (!well_formed) return false;
    walk.file_at = std::string(key) + '\0';
    if (walk.named.may_hold(*hash)) return true;
    step.ready.erase(store::Family::blob, std::string(key));
    step.state.blobs.forget(*hash);
    step.state.metrics.removed_file();
    walk.removed_files.insert(*hash);
    return true;
  };
  KQ_TRY(step.state.store->scan(store::Family::blob, walk.file_at, "", visit));
  if (!well_formed) return our_fault("store, family 'blob': a key is no hash");
  return is_over;
}

void Retention::name_files(const Submission& submission) {
  if (walk != Walk::submissions && walk != Walk::files) return;
  for (const SourceFile& file : submission.files) named.add(file.hash);
  named.add(submission.problem.hash);
}

}  // namespace kq::broker
