// How kq's functions fail.
//
// Two voices: what a submission did wrong is a Verdict (core/verdict.h) and is a normal outcome. What we, the machine
// or the caller did wrong is an Error. Functions that can fail return Expected<T>; exceptions end at the library call
// that throws them.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace kq {

// The process exit codes every program of kq shares. Never change a number.
enum class ExitCode : int {
  ok = 0,            // the work asked for is done; with --wait: every kernel passed
  job_failed = 1,    // the work is done, at least one kernel did not pass
  bad_input = 2,     // usage, configuration or input error; nothing was submitted
  our_fault = 3,     // infrastructure failure after retries
  gave_up = 4,       // --timeout expired, jobs are still queued or running
  nothing = 5,       // nothing matched
  interrupted = 130  // SIGINT
};

// One sentence for a person: what was wrong, where, and what would be right.
struct Error {
  ExitCode code = ExitCode::our_fault;
  std::string message;

  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Expected = tl::expected<T, Error>;

// Makes the unexpected side of an Expected: the user's mistake (exit 2), or ours (exit 3).
inline tl::unexpected<Error> bad_input(std::string message) {
  return tl::unexpected<Error>(Error{ExitCode::bad_input, std::move(message)});
}
inline tl::unexpected<Error> our_fault(std::string message) {
  return tl::unexpected<Error>(Error{ExitCode::our_fault, std::move(message)});
}
inline tl::unexpected<Error> failure(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace kq
