// Runs prepared jobs at a broker and waits for them, as kq sweep and kq problem check do.
//
// Without the URL of a broker, an Evaluation starts a broker and a worker (tools/stack/stack.h) and stops them before
// run() returns. If another process holds the state folder, its broker and worker are used, and the Evaluation starts
// its own in the same folder once that process has ended. In a folder with unfinished jobs of other runs, the jobs of
// this run go first: an own broker pauses the submitters of those jobs until run() returns. Everything runs on one
// thread. Whatever waits (for an answer, for jobs, for a program to start)
// calls interrupted() or sleep() again and again; these take stop signals, and interrupted() restarts a broker or
// worker that has ended.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "producer/client/progress.h"
#include "producer/client/wait.h"
#include "producer/submit/submit.h"
#include "tools/stack/stack.h"
#include "tools/stack/stop_signals.h"

namespace kq::tools {

struct EvaluationPlan {
  std::string program;  // name of the program, for messages on standard error
  std::string broker;   // URL of a broker; empty: a broker and a worker are started
  std::string key;      // path of a key file for `broker`; empty for no key
  std::string state;    // state folder of the programs that are started; empty for the default
  std::string device;   // "any", "cpu" or "cuda"
  std::optional<double> timeout_s;
  bool is_quiet = false;  // print neither progress nor news
};

// Resumes submitters at a broker without keys. Failures are ignored, because kq ctl resume does the same.
void resume_submitters(const std::string& url, const std::vector<std::string>& submitters);

// One batch of jobs from submission to results. It must be constructed in main() before a thread is started.
class Evaluation {
 public:
  explicit Evaluation(EvaluationPlan plan) : plan_(std::move(plan)) {}

  // Reads the rows of the run while the broker is still there: when the jobs are finished, the time is over, or a stop
  // signal has arrived.
  using Gather = std::function<Expected<void>(producer::Client& client, const producer::SubmitSummary& submitted)>;
  // Submits the jobs, waits until they are finished or the time is over, and calls `gather`. No process that the call
  // started outlives it. Returns an Error when a job is refused, a program fails, or a stop signal arrives.
  Expected<producer::WaitOutcome> run(const producer::Prepared& prepared, const Gather& gather);

  // Returns the stop signal that ended run(), or nothing.
  const std::optional<int>& signal() const { return signal_; }
  // Returns what run() has told of rows of the run that it has replaced.
  const std::vector<std::string>& notes() const { return notes_; }
  // Returns, while run() calls `gather`, the path of the store of the broker that was started, or the URL of another.
  std::string place() const { return stack_ ? stack_->folder().file("store") : url_; }
  // Returns the options with which programs that read find the results after run(), such as " --broker URL" or
  // " --store DIR"; empty where they find the results without an option.
  std::string place_options() const;
  // Returns the end of a sentence about jobs that are left after run(): whether they go on with a broker, the command
  // that goes on, whose arguments are `words`, and the command that cancels them.
  std::string next_commands(const std::string& run, const std::vector<std::string>& words) const;

 private:
  Expected<producer::WaitOutcome> evaluate(const producer::Prepared& prepared, const Gather& gather);
  Expected<std::string> find_broker();
  Expected<std::string> start_stack();
  StackPlan stack_plan() const;
  std::string key_of_broker() const;
  bool is_found_without_option() const;
  std::string command_for_forced_jobs(const std::string& run) const;
  void take_over();
  void put_first(producer::Client& client, producer::Prepared& prepared);
  Expected<void> hold_others(producer::Client& client, const producer::SubmitSummary& submitted);
  void resume_others();
  void start_worker();
  void say(const std::string& sentence);
  void tell(const std::string& sentence);
  void gather_after_signal(const producer::SubmitSummary& submitted, const Gather& gather);
  bool interrupted();
  bool sleep(std::int64_t ms);
  tl::unexpected<Error> stopped(const Error& error) const;
  Expected<producer::WaitOutcome> wait(producer::Client& client, const producer::SubmitSummary& submitted);

  EvaluationPlan plan_;
  std::vector<std::string> notes_;
  StopSignals signals_;
  std::optional<int> signal_;
  std::optional<Error> stack_error_;
  std::unique_ptr<Stack> stack_;          // null where the broker is another's, and after run()
  bool has_own_stack_ = false;            // whether run() had a stack at its end
  std::string url_;                       // of the broker that is used
  bool has_submitted_ = false;            // whether the broker has jobs of the run
  std::string state_;                     // the state folder; empty with a broker that the plan names
  std::vector<std::string> paused_;       // submitters of other runs
  std::int64_t holder_seen_ms_ = 0;       // when take_over() last looked for the process that holds the folder
  producer::StatusLine* line_ = nullptr;  // while waiting
};

}  // namespace kq::tools
