// How kq's functions fail.
//
// There are two kinds of failure. A fault of a submission is a Verdict (core/verdict.h), which is a normal outcome. A
// fault of kq, of the machine or of the caller is an Error. Functions that can fail return Expected<T>; an exception is
// caught at the library call that throws it.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace kq {

// The process exit codes that every program of kq shares. A number never changes.
enum class ExitCode : int {
  ok = 0,            // the requested work is done; with --wait: every kernel passed
  job_failed = 1,    // the work is done, at least one kernel did not pass
  bad_input = 2,     // usage, configuration or input error; nothing was submitted
  our_fault = 3,     // infrastructure failure after retries
  gave_up = 4,       // --timeout expired, jobs are still queued or running
  nothing = 5,       // nothing matched
  interrupted = 130  // SIGINT
};

// The kind of an Error. exit_code() is the only table from kinds to exit codes of a process, and only main functions
// need it.
enum class ErrorKind {
  bad_input,    // the usage, configuration or input of the caller is wrong
  our_fault,    // kq or this machine failed; a retry may help
  gave_up,      // a time limit that the caller set is over
  not_found,    // the requested object does not exist
  interrupted,  // the caller stopped the work
};

constexpr ExitCode exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::bad_input:
      return ExitCode::bad_input;
    case ErrorKind::our_fault:
      return ExitCode::our_fault;
    case ErrorKind::gave_up:
      return ExitCode::gave_up;
    case ErrorKind::not_found:
      return ExitCode::nothing;
    case ErrorKind::interrupted:
      return ExitCode::interrupted;
  }
  return ExitCode::our_fault;
}

// One sentence for a person: what was wrong, where, and what would be right.
struct Error {
  ErrorKind kind = ErrorKind::our_fault;
  std::string message;

  friend bool operator==(const Error&, const Error&) = default;
};

template <class T>
using Expected = tl::expected<T, Error>;

// Each returns an error for a function whose return type is an Expected: a mistake of the caller, a fault of kq or of
// this machine, or the given Error.
inline tl::unexpected<Error> bad_input(std::string message) {
  return tl::unexpected<Error>(Error{ErrorKind::bad_input, std::move(message)});
}
inline tl::unexpected<Error> our_fault(std::string message) {
  return tl::unexpected<Error>(Error{ErrorKind::our_fault, std::move(message)});
}
inline tl::unexpected<Error> failure(Error error) {
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace kq

// KQ_TRY(expression): evaluates an expression of type Expected and returns its error from the calling function, whose
// return type must be an Expected with the same type of error, when there is one.
#define KQ_TRY(...)                                                    \
  do {                                                                 \
    auto kq_tried = (__VA_ARGS__);                                     \
    if (!kq_tried) return tl::unexpected(std::move(kq_tried.error())); \
  } while (false)

// KQ_TRY_VALUE(auto value, expression) does the same, and otherwise declares `value` with the value of the expression.
#define KQ_TRY_VALUE(declaration, ...) KQ_TRY_VALUE_AS(KQ_TRY_JOIN(kq_tried_, __LINE__), declaration, __VA_ARGS__)
#define KQ_TRY_VALUE_AS(tried, declaration, ...)               \
  auto tried = (__VA_ARGS__);                                  \
  if (!tried) return tl::unexpected(std::move(tried.error())); \
  declaration = *std::move(tried)
#define KQ_TRY_JOIN(a, b) KQ_TRY_JOIN_AS(a, b)
#define KQ_TRY_JOIN_AS(a, b) a##b
