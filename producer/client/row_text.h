// Formats what a row holds for people: times with units, verdicts with their evidence, text that is safe to print.
#pragma once

#include <string>
#include <string_view>

#include "core/records.h"

namespace kq::producer {

// Returns the text with bytes that are not UTF-8 replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

// Returns the text with control characters, hidden characters (core/base/safe_text.h), and bytes that are not UTF-8,
// made visible. All text that a submission or another user wrote must pass through this function before it is printed.
std::string printable(std::string_view text);

std::string time_text(double ns);          // three digits with the fitting unit: "12.5 us", "3.04 ms"; "-" for 0
std::string speedup_text(double speedup);  // "1.73x"; "-" for 0
// Returns " ±3%": the noise of a figure as a share of it, to follow the figure. Returns an empty text where the noise
// is unknown.
std::string noise_text(double figure, double noise);

// The times of a job for people, each with its noise: "~3.93 ms ±66%". The tilde says that the machine was busy.
struct TimeTexts {
  std::string own;        // the published time of one call of the submission
  std::string reference;  // the published time of one call of the reference
  std::string speedup;
};
TimeTexts time_texts(const Measurement& measurement);

// Returns the state in the words of people: "queued", "running" for a leased job, "finished". Machine-readable formats
// have the names of JobState.
std::string state_text(JobState state);

// Returns the verdict with its reason, or the state of an unfinished job: "wrong_answer (shape)", "passed", "running".
std::string outcome_text(const RunRow& row);

// Returns the evidence of a verdict, such as "relu/fast: rejected (stream): add.cu:12: no streams", with the hint on an
// indented line of its own.
std::string evidence_text(const RunRow& row);

// Returns how a finished job ended: its times with noise and its speedup where it passed, else its evidence.
std::string finished_text(const RunRow& row);

}  // namespace kq::producer
