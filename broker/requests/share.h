// Handles the requests that share runs and read the files of jobs (core/operations.h).
#pragma once

#include "broker/core/caller.h"
#include "core/messages.h"

namespace kq::broker {

Expected<void> answer(Step& step, const Caller& caller, const ShareRun& request);
Expected<void> answer(Step& step, const Caller& caller, const FileQuery& query);

// Removes from the rows of a run what a caller who may not read the sources must not see: messages of compilers and of
// the submission, which may quote them.
Expected<void> conceal(const State& state, const Caller& caller, RunReply& page);

}  // namespace kq::broker
