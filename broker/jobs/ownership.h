// Decides, where keys are used, who may add rows to a run, who may read the files of a row, and who may name a file by
// its hash alone. Without keys every client may do all of this.
//
// The first submitter that names a run owns it. The hash of a file is no secret, so a submitter may name a file by its
// hash alone only after it has sent the bytes of the file.
#pragma once

#include <optional>
#include <string>

#include "broker/core/caller.h"
#include "core/bytes/hash.h"
#include "core/records.h"

namespace kq::broker {

// Returns the owner of a run, as this turn will leave it, or nothing where there is no such run.
Expected<std::optional<RunOwner>> owner_of(const State& state, const std::string& run);

// Returns why the submitter must not add rows to the run, or nothing. A run without an owner gets this one.
Expected<std::optional<std::string>> claim_run(Step& step, const Caller& caller, const std::string& run,
                                               const std::string& submitter);

// Returns whether the caller may share the run. A gateway may do so for all its submitters, whose runs it keeps apart
// itself.
bool may_share(const Caller& caller, const RunOwner& owner);

// Returns whether the caller may read the files and the messages of a row.
bool may_read(const Caller& caller, const std::optional<RunOwner>& owner, const std::string& row_submitter);

// Whether the submitter has sent the bytes of this file, and a note that it has.
Expected<bool> has_sent(const State& state, const std::string& submitter, const Hash& hash);
void note_sender(Step& step, const std::string& submitter, const Hash& hash);
// Forgets the senders of a file that is removed.
Expected<void> forget_senders(Step& step, const Hash& hash);

}  // namespace kq::broker
