// The routes that popcorn-cli uses, for the problems of the operator's checkout:
//
//   GET /leaderboards, GET /gpus/BOARD              what a client may submit to
//   GET /auth/init                                  gives a client its id, where the gateway has no tokens
//   POST /submission/BOARD/GPU/MODE                 takes a file; the client then asks for the submission until it ends
//   POST /BOARD/GPU/MODE                            takes a file and answers with events until the result
//   GET /user/submissions, GET and DELETE /user/submissions/ID
//   POST /user/join
//
// The number of a submission is made of its time, and is its label in the run of its user. So every gateway beside a
// broker answers for every submission, and a gateway keeps nothing. A client names itself in X-Popcorn-Cli-Id: by a
// token of the gateway; without tokens by any id, whose hash is the name of the user.
#pragma once

#include <cstdint>
#include <string>

#include "producer/gateway/http.h"

namespace kq::producer::popcorn {
class ProblemSet;
}

namespace kq::gateway::popcorn {

inline constexpr std::size_t kBodyBytesMax = 1'200'000;  // of a form with a submission
inline constexpr std::size_t kListedMax = 100;           // submissions in one answer
inline constexpr std::size_t kListedDefault = 50;
inline constexpr std::size_t kListPagesMax = 64;          // pages of a user's submissions that are searched
inline constexpr std::int64_t kStatusEventMs = 15'000;    // between two events of a running submission
inline constexpr std::int64_t kStreamMsMax = 3'600'000;   // clients wait no longer
inline constexpr std::int64_t kSubmissionsPerMs = 1'000;  // numbers of submissions in one millisecond
inline constexpr std::int64_t kSubmissionIdMax = 9'007'199'254'740'991;  // 2^53 - 1: exact as a JSON number anywhere

// Returns the label of a submission. Labels are in the order of age, newest first.
std::string label_of(std::int64_t submission_id);

// Returns the routes. `problems` is null for a gateway without problems; each route then says so.
Routes popcorn_routes(producer::popcorn::ProblemSet* problems, bool has_tokens);

}  // namespace kq::gateway::popcorn
