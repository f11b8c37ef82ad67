#include "broker/jobs/ownership.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/codec/codec.h"
#include "store/keys.h"
#include "store/reader.h"

namespace kq::broker {
namespace {

bool is_own(const Caller& caller, const std::string& name) {
  return !name.empty() && owns_jobs_of(caller, name);
}

}  // namespace

Expected<std::optional<RunOwner>> owner_of(const State& state, const std::string& run) {
  if (const auto known = state.rights.owners.find(run); known != state.rights.owners.end())
    return std::optional(known->second);
  return store::read_owner(*state.store, run);
}

Expected<std::optional<std::string>> claim_run(Step& step, const Caller& caller, const std::string& run,
                                               const std::string& submitter) {
  State& state = step.state;
  if (caller.identity.name.empty()) return std::nullopt;
  KQ_TRY_VALUE(auto owner, owner_of(state, run));
  if (!owner) owner = RunOwner{.owner = submitter};
  // An owner that follows from the rows is written down, because another row may come first later.
  if (!state.rights.owners.contains(run) && !state.space.nearly_full) {
    step.ready.write(store::Family::owner, run, encode(*owner));
    state.rights.owners.emplace(run, *owner);
  }
  if (may_share(caller, *owner) ||
      std::ranges::any_of(owner->shared, [&](const std::string& name) { return is_own(caller, name); }))
    return std::nullopt;
  const std::string name = owner->owner.empty() ? "a submitter without a name" : owner->owner;
  return "run '" + run + "' belongs to " + name + "; choose another name for the run, or have its owner or an admin " +
         "call: kq ctl share " + run + " " + submitter;
}

bool may_share(const Caller& caller, const RunOwner& owner) {
  return caller.identity.role == Role::admin || is_own(caller, owner.owner);
}

bool may_read(const Caller& caller, const std::optional<RunOwner>& owner, const std::string& row_submitter) {
  if (caller.identity.name.empty() || caller.identity.role == Role::admin) return true;
  const auto is_of_caller = [&](const std::string& name) { return is_own(caller, name); };
  return is_of_caller(row_submitter) ||
         (owner && (is_of_caller(owner->owner) || std::ranges::any_of(owner->shared, is_of_caller)));
}

Expected<bool> has_sent(const State& state, const std::string& submitter, const Hash& hash) {
  const std::string key = store::sender_key(hash, submitter);
  if (state.rights.senders.contains(key)) return true;
  if (state.retention.removed_files.contains(hash)) return false;
  KQ_TRY_VALUE(const auto found, state.store->get(store::Family::sender, key));
  return found.has_value();
}

void note_sender(Step& step, const std::string& submitter, const Hash& hash) {
  std::string key = store::sender_key(hash, submitter);
  if (step.state.space.nearly_full || !step.state.rights.senders.insert(key).second) return;
  step.ready.write(store::Family::sender, std::move(key), "");
}

Expected<void> forget_senders(Step& step, const Hash& hash) {
  std::vector<std::string> keys;
  const auto visit = [&](std::string_view key, std::string_view) {
    keys.emplace_back(key);
    return true;
  };
  KQ_TRY(step.state.store->scan(store::Family::sender, as_bytes(hash), store::sender_end(hash), visit));
  for (std::string& key : keys) {
    step.state.rights.senders.erase(key);
    step.ready.erase(store::Family::sender, std::move(key));
  }
  return {};
}

}  // namespace kq::broker
