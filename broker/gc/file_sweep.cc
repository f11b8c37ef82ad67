#include "broker/gc/file_sweep.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "broker/core/step.h"
#include "broker/jobs/ownership.h"
#include "core/codec/codec.h"
#include "store/keys.h"

namespace kq::broker {

bool wants_files_swept(const State& state, std::int64_t now_ms) {
  const Retention& walk = state.retention;
  if (walk.removed_count == 0) return false;
  // A sweep reads every remaining submission, so it runs only if many jobs were removed or the last sweep was long ago.
  return walk.removed_count >= (state.next_sequence - walk.from) / 4 ||
         now_ms >= walk.last_sweep_ms + state.options.file_sweep_interval_ms;
}

Expected<bool> collect_named_files(Step& step) {
  Retention& walk = step.state.retention;
  const Sequence end = std::min(walk.at + Retention::kSpanPerStep, step.state.next_sequence);
  bool is_whole = true;  // whether the span was read to its end
  std::size_t read_count = 0;
  std::optional<Error> damage;
  const auto visit = [&](std::string_view key, std::string_view value) {
    is_whole = read_count++ < step.state.options.records_read_per_step_max;
    if (!is_whole) return false;
    const auto submission = decode<Submission>(value);
    const auto seq = store::sequence_from(key);
    if (!submission || !seq) {
      damage = Error{ErrorKind::our_fault,
                     "store, family 'body': " + (submission ? "a key is unreadable" : submission.error().message)};
      return false;
    }
    walk.add_named_files(*submission);
    walk.at = *seq + 1;
    return true;
  };
  KQ_TRY(step.state.store->scan(store::Family::body, store::sequence_key(walk.at), store::sequence_key(end), visit));
  if (damage) return failure(std::move(*damage));
  if (is_whole) walk.at = end;
  return is_whole && end == step.state.next_sequence;
}

Expected<bool> remove_unnamed_files(Step& step) {
  Retention& walk = step.state.retention;
  bool is_over = true;  // whether the walk has reached the last file
  std::size_t read_count = 0;
  bool well_formed = true;
  std::vector<Hash> removed;
  const auto visit = [&](std::string_view key, std::string_view) {
    is_over = read_count++ < step.state.options.files_read_per_step_max;
    if (!is_over) return false;
    const auto hash = hash_from_bytes(key.substr(0, sizeof(Hash::bytes)));
    well_formed = hash.has_value();
    if (!well_formed) return false;
    walk.file_at = std::string(key) + '\0';  // the least key behind this one
    if (walk.named.may_hold(*hash)) return true;
    step.ready.erase(store::Family::blob, std::string(key));
    step.state.blobs.forget(*hash);
    step.state.metrics.removed_file();
    walk.removed_files.insert(*hash);
    removed.push_back(*hash);
    return true;
  };
  KQ_TRY(step.state.store->scan(store::Family::blob, walk.file_at, "", visit));
  if (!well_formed) return our_fault("store, family 'blob': a key is not a hash");
  for (const Hash& hash : removed) KQ_TRY(forget_senders(step, hash));
  return is_over;
}

}  // namespace kq::broker
