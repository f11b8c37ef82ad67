// The texts that kq-submit prints.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "producer/client/json.h"
#include "producer/client/wait.h"
#include "producer/submit/submit.h"

namespace kq::producer {

// "accepted 3, reused 1, refused 0; run NAME"
std::string counts_text(const SubmitSummary& summary);

// Prints {"run": NAME, "jobs": [...], further members} job by job, because there may be a million jobs.
class JobList {
 public:
  explicit JobList(std::function<void(const std::string&)> print) : print_(std::move(print)) {}
  // Sets the run of the object before the first job is added. Otherwise it is the run of the first job, or null.
  void name_run(const std::string& run) { run_ = run; }
  // A job of another run than the object's gets the member "run".
  void add(const std::string& run, Json job);
  void end(const JsonObject& members);

 private:
  void open();

  std::string run_;
  std::function<void(const std::string&)> print_;
  bool is_open_ = false;
  bool has_jobs_ = false;
};

// What a call has to say besides its jobs.
struct EndOfCall {
  std::size_t left_out_count = 0;     // kernels that are no jobs because of a mistake
  std::vector<std::string> notes{};   // about what is right and may not be meant, such as rows that are replaced
  std::vector<std::string> errors{};  // mistakes in the input, and why the call ended early
};

// The last members of a call's object: {"left_out", "notes", "errors", "exit_code"}. The exit code is that of the
// process.
JsonObject end_members(const EndOfCall& end, int exit_code);

// The numbers of jobs for a terminal, on one line: thousands of them would push everything else off the screen.
class NumberRanges {
 public:
  void add(Sequence seq);
  // Returns "jobs 1-5000, 5003", "job 7", or an empty text for no job, without a newline.
  std::string text() const;

 private:
  static constexpr std::size_t kRangesMax = 8;  // further jobs are only counted

  struct Range {
    Sequence first = 0;
    Sequence last = 0;
  };
  std::vector<Range> ranges_;
  std::size_t job_count_ = 0;
  std::size_t further_count_ = 0;
};

// The state of a job after a wait. job_json() returns {"id", "label", "state", "acceptance", "reason"}, and with an
// `end` also "verdict" and the further members. The reason is that of a refusal, or with an `end` that of the verdict.
struct JobEnd {
  JobState state = JobState::queued;
  std::string verdict;
  std::string reason = "";
  JsonObject members = {};
};
Json job_json(const SubmittedJob& job, const std::optional<JobEnd>& end = std::nullopt);

// The object of a job that waits in a spool folder. It has the members of a job without a number.
Json spooled_json(const PackedJob& job);

// The label, backend, device, the first digits of the key, and the settings in the kernel's own text.
std::string dry_run_line(const PackedJob& job);
Json dry_run_json(const PackedJob& job);

// "runs/mine is read as kernelbench_run: it holds level_1_problem_1_sample_0_kernel.py"
std::string recognised_text(const RecognisedInput& recognised);

// Each is an event for --progress json, on a line of its own.
std::string sent_event(const SubmitSummary& summary, std::size_t job_count);
std::string wait_event(const Tally& tally);

// "[  2560/1000000]   0% sent"
std::string sending_text(std::size_t answered_count, std::size_t job_count);

// "3 accepted jobs stay with the broker; resume: kq results NAME --wait; cancel: kq ctl cancel --run NAME". The name is
// quoted for a shell where that is necessary.
std::string resume_text(std::size_t unfinished, const std::string& run, const std::string& broker = "");

}  // namespace kq::producer
