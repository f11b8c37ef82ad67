// Answers the queries of clients. Nothing here changes a job or the store.
#pragma once

#include "broker/core/caller.h"
#include "core/messages.h"

namespace kq::broker {

Expected<void> answer(Step& step, const Caller& caller, const StatusQuery& query);
Expected<void> answer(Step& step, const Caller& caller, const RunQuery& query);
Expected<void> answer(Step& step, const Caller& caller, const BoardQuery& query);
Expected<void> answer(Step& step, const Caller& caller, const BrokerQuery& query);
Expected<void> answer(Step& step, const Caller& caller, const JobsQuery& query);
Expected<void> answer(Step& step, const Caller& caller, const DeadQuery& query);
Expected<void> answer(Step& step, const Caller& caller, const QueueQuery& query);
Expected<void> answer(Step& step, const Caller& caller, const StatsQuery& query);
Expected<void> answer(Step& step, const Caller& caller, const RunsQuery& query);

// At the end of a turn: answers the queries that waited for a job which this turn finished, and those whose time is
// over.
Expected<void> answer_watchers(Step& step);

}  // namespace kq::broker
