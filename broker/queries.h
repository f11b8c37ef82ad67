// Questions of clients. Nothing here changes anything.
#pragma once

#include <string>

#include "broker/state.h"

namespace kq {

Expected<void> answer(Step& step, const std::string& peer, std::uint64_t request_id, const StatusQuery& query);
Expected<void> answer(Step& step, const std::string& peer, std::uint64_t request_id, const RunQuery& query);
Expected<void> answer(Step& step, const std::string& peer, std::uint64_t request_id, const BoardQuery& query);
Expected<void> answer(Step& step, const std::string& peer, std::uint64_t request_id, const BrokerQuery& query);

}  // namespace kq
