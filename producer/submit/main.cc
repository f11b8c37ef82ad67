// The program kq-submit. It makes jobs from its inputs, sends them to a broker, and with --wait waits for their
// verdicts.
//
// Numbers or JSON go to standard output; progress, refusals and errors go to standard error. The exit codes are those
// of core/base/error.h. The first SIGINT ends sending or waiting. After --wait a second SIGINT within 2 s cancels the
// jobs that this call submitted. Every SIGINT after the second ends the process at once. The first SIGTERM ends sending
// or waiting, too, with exit code 143; the second ends the process at once.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/limits.h"
#include "net/endpoint.h"
#include "net/keys.h"
#include "producer/client/progress.h"
#include "producer/client/running_stack.h"
#include "producer/client/sentences.h"
#include "producer/client/standard_output.h"
#include "producer/submit/command_line.h"
#include "producer/submit/outcomes.h"
#include "producer/submit/output.h"
#include "producer/submit/replaced_rows.h"
#include "producer/submit/spool.h"
#include "producer/submit/spooled_stdin.h"
#include "producer/submit/submit.h"
#include "sys/clock.h"
#include "sys/error_text.h"

namespace kq::producer {
namespace {

constexpr const char* kProgram = "kq-submit";
// With --spool, a broker that does not reply within this time counts as unreachable, and the jobs stay in the spool.
constexpr std::int64_t kSpoolAnswerMs = 1'500;

// The number of SIGINTs, and whether a SIGTERM has come. They are global because a signal handler can only access
// global variables.
volatile sig_atomic_t g_interrupts = 0;
volatile sig_atomic_t g_terminated = 0;
bool interrupted() {
  return g_interrupts > 0 || g_terminated != 0;
}

void say(const std::string& sentence) {
  std::fputs((std::string(kProgram) + ": " + one_line(sentence) + "\n").c_str(), stderr);
}

void print(const std::string& text) {
  std::cout << text;
}

constexpr int kInterruptsCounted = 2;  // the next SIGINT has the system's default effect: it ends the process
constexpr std::int64_t kSecondInterruptMs = 2'000;

void watch_for_interrupt() {
  struct sigaction action {};
  action.sa_handler = [](int) {
    g_interrupts = g_interrupts + 1;
    if (g_interrupts >= kInterruptsCounted) ::signal(SIGINT, SIG_DFL);
  };
  sigaction(SIGINT, &action, nullptr);  // without SA_RESTART a signal ends a wait early
  action.sa_handler = [](int) {
    g_terminated = 1;
    ::signal(SIGTERM, SIG_DFL);
  };
  sigaction(SIGTERM, &action, nullptr);
}

// Returns the exit code of the process for that of the call.
int process_code(ExitCode code) {
  return code == ExitCode::interrupted && g_terminated != 0 ? 128 + SIGTERM : static_cast<int>(code);
}

// Tells the errors of a call on standard error, and prints the object of --json on standard output.
class Report {
 public:
  explicit Report(bool is_json) : is_json_(is_json) {}

  void name_run(const std::string& run) { list_.name_run(run); }
  JobList& list() { return list_; }
  void count_left_out(std::size_t count) { end_.left_out_count = count; }

  // Add a note, or an error, that is told elsewhere.
  void add_note(const std::string& sentence) { end_.notes.push_back(sentence); }
  void add_error(const std::string& sentence) { end_.errors.push_back(sentence); }
  void tell(const std::string& sentence) {
    say(sentence);
    add_error(sentence);
  }
  // Tells an error, and returns its exit code.
  ExitCode failed(const Error& error) {
    tell(error.message);
    return exit_code(error.kind);
  }

  // Ends the call, and returns the exit code of the process.
  int end(ExitCode code) {
    const int ended = process_code(code);
    if (is_json_) list_.end(end_members(end_, ended));
    return ended;
  }

 private:
  const bool is_json_;
  JobList list_{print};
  EndOfCall end_;
};

// The jobs of a call that belong to one run. Jobs of a spool folder may belong to other runs than those of the call.
struct SentRun {
  SubmitSummary summary;
  std::size_t job_count = 0;
  WaitList to_wait_for;
};

// Prints each acknowledgement when it arrives: numbers or JSON objects on standard output, and progress and refusals on
// standard error. Collects the jobs to wait for.
class AckPrinter {
 public:
  AckPrinter(const SubmitCommandLine& line, JobList& list) : line_(line), list_(list) {
    status_ = stderr_status_line();
  }

  // Adds jobs that will be sent.
  void expect(const std::string& run, std::size_t job_count) {
    SentRun& sent = runs_[run];
    sent.summary.run = run;
    sent.job_count += job_count;
  }

  void add(const std::string& run, SubmittedJob job) {
    SentRun& sent = runs_[run];
    sent.summary.count_one(job.ack.acceptance);
    if (job.ack.acceptance == Acceptance::refused && ++refused_count_ <= kSentencesShown)
      refusals_.push_back("refused " + job.label + ": " + job.ack.reason);
    if (job.ack.acceptance == Acceptance::accepted && line_.wait) accepted_.push_back(job.ack.seq);
    if (!line_.json && job.ack.seq != 0) print_number(job.ack.seq);
    if (line_.wait && job.ack.seq != 0) sent.to_wait_for.add({job.ack.seq, job.needs});
    // After the wait these are printed with their verdicts. Jobs that end in a spool folder are printed as such.
    const bool is_listed_later = line_.wait || !line_.spool.empty();
    if (line_.json && !is_listed_later) list_.add(run, job_json(job));
    if (is_listed_later && (line_.json || sent.summary.jobs.size() < kToldJobsMax))
      sent.summary.jobs.push_back(std::move(job));
    show(sent);
  }

  // Removes the progress line, and then prints the refusals.
  void finish() {
    if (is_shown_) status_.write("\r\x1b[K");
    is_shown_ = false;
    if (const std::string numbers = numbers_.text(); !numbers.empty() && !line_.quiet) print(numbers + "\n");
    std::cout.flush();
    for (const auto& [run, sent] : runs_) {
      if (line_.progress == ProgressStyle::json && !line_.quiet)
        std::fputs(sent_event(sent.summary, sent.job_count).c_str(), stderr);
    }
    refusals_.resize(refused_count_);  // listed() counts those that it does not show
    std::fputs(listed(kProgram, refusals_).c_str(), stderr);
  }

  // The runs of the jobs, by name.
  std::map<std::string, SentRun>& runs() { return runs_; }
  std::size_t refused_count() const { return refused_count_; }
  const std::vector<Sequence>& accepted() const { return accepted_; }

 private:
  static constexpr std::int64_t kShowMs = 250;

  // A program that reads standard output gets each number at once; a terminal gets all of them at the end, as ranges.
  void print_number(Sequence seq) {
    if (is_terminal_) {
      numbers_.add(seq);
    } else {
      print(std::to_string(seq) + "\n");
    }
  }

  void show(const SentRun& sent) {
    const std::int64_t now_ms = sys::monotonic_now_ms();
    if (line_.quiet || line_.progress == ProgressStyle::none || now_ms - shown_ms_ < kShowMs) return;
    shown_ms_ = now_ms;
    if (line_.progress == ProgressStyle::json) {
      std::fputs(sent_event(sent.summary, sent.job_count).c_str(), stderr);
    } else if (status_.in_place) {
      status_.write("\r\x1b[K" + sending_text(sent.summary.answered_count(), sent.job_count));
      is_shown_ = true;
    }
  }

  const SubmitCommandLine& line_;
  JobList& list_;
  const bool is_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  NumberRanges numbers_;  // used for a terminal
  std::map<std::string, SentRun> runs_;
  StatusLineOptions status_;
  std::size_t refused_count_ = 0;
  std::vector<std::string> refusals_;
  std::vector<Sequence> accepted_;  // the jobs that a second ^C cancels
  std::int64_t shown_ms_ = sys::monotonic_now_ms();
  bool is_shown_ = false;
};

// Waits for the jobs and writes the progress to standard error. The caller reports the outcome.
Expected<WaitOutcome> wait_with_progress(Client& client, WaitList jobs, const SubmitCommandLine& line,
                                         std::optional<std::int64_t> timeout_ms) {
  WaitOptions options = real_wait_options();
  options.timeout_ms = timeout_ms;
  options.interrupted = interrupted;
  StatusLine status(stderr_status_line(), options.now_ms());
  if (!line.quiet && line.progress == ProgressStyle::automatic)
    options.progress = [&](const Tally& tally) { status.update(tally, options.now_ms()); };
  if (!line.quiet && line.progress == ProgressStyle::json)
    options.progress = [&](const Tally& tally) { std::fputs(wait_event(tally).c_str(), stderr); };
  if (!line.quiet) {
    client.on_silence([&](const std::string& sentence) {
      status.end();
      say(sentence);
    });
  }
  auto outcome = wait_for(client, std::move(jobs), options);
  client.on_silence([](const std::string&) {});
  return outcome;
}

// Waits kSecondInterruptMs for a second ^C, which cancels the jobs that this call submitted. Reused jobs of earlier
// calls are not cancelled. Returns the jobs that are cancelled.
std::vector<Sequence> offer_to_cancel(Client& client, const std::vector<Sequence>& accepted) {
  std::vector<Sequence> cancelled;
  if (accepted.empty() || g_terminated != 0) return cancelled;
  say("^C again within 2 s cancels the " + counted(accepted.size(), "job") + " of this call");
  const std::int64_t end_ms = sys::monotonic_now_ms() + kSecondInterruptMs;
  while (g_interrupts < kInterruptsCounted && sys::monotonic_now_ms() < end_ms) ::usleep(10'000);
  if (g_interrupts < kInterruptsCounted) return cancelled;
  client.stop_when([] { return false; });
  for (std::size_t first = 0; first < accepted.size(); first += kQuerySeqsMax) {
    const auto end = accepted.begin() + static_cast<std::ptrdiff_t>(std::min(first + kQuerySeqsMax, accepted.size()));
    const auto reply = client.ask_for<ActionReply>(
        CancelJobs{{accepted.begin() + static_cast<std::ptrdiff_t>(first), end}}, kSubmitTimeoutMs);
    if (!reply) {
      say("not cancelled: " + reply.error().message);
      return cancelled;
    }
    for (const JobAction& job : reply->jobs) {
      // A job that other submitters want as well goes on.
      if (job.done && job.state == JobState::finished) cancelled.push_back(job.seq);
    }
  }
  say("cancelled " + counted(cancelled.size(), "job"));
  return cancelled;
}

// Returns the broker's URL if a later command of this shell must name it, otherwise an empty text: such a command finds
// the broker without an option.
std::string broker_argument(const SubmitCommandLine& line) {
  return line.broker == default_broker(process_environment).url ? "" : line.broker;
}

// Returns the option with which a later command of this shell finds the broker, with a space before it.
std::string place_options(const SubmitCommandLine& line) {
  const std::string broker = broker_argument(line);
  return broker.empty() ? "" : " --broker " + shell_quoted(broker);
}

// Prints texts of several lines, which are harmless, each behind the program's name.
void say_lines(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) std::fputs((std::string(kProgram) + ": " + text + "\n").c_str(), stderr);
}

void say_outcome(WaitOutcome& outcome, const SubmitCommandLine& line, const SubmitSummary& summary,
                 const ReadRows& read, Report& report) {
  const std::size_t unfinished = outcome.tally().total - outcome.tally().finished;
  if (outcome.end == WaitEnd::timed_out)
    report.tell("--timeout is over; " + resume_text(unfinished, summary.run, broker_argument(line)));
  if (outcome.end == WaitEnd::interrupted)
    report.tell("interrupted; " + resume_text(unfinished, summary.run, broker_argument(line)));
  if (line.quiet || line.progress == ProgressStyle::json) return;
  // After a ^C nothing more is asked of the broker.
  if (outcome.end != WaitEnd::interrupted && !line.json)
    say_lines(outcome_texts(summary, outcome.jobs, read, place_options(line)));
  say(summary_text(outcome.tally()));
  const std::string next = next_command(summary, outcome.jobs, place_options(line));
  if (!next.empty()) say(next);
}

// Returns the exit code of the call. A fault of kq takes precedence over bad input, and bad input over a kernel that
// did not pass.
ExitCode final_code(ExitCode code, bool any_bad_input, bool exit_zero) {
  if (any_bad_input && (code == ExitCode::ok || code == ExitCode::job_failed)) return ExitCode::bad_input;
  if (exit_zero && code == ExitCode::job_failed) return ExitCode::ok;
  return code;
}

// Writes the jobs to the spool folder, because no broker is reachable. A later call sends them.
ExitCode keep_in_spool(const SubmitCommandLine& line, const JobSource& source, const Error& why, Report& report) {
  const auto kept = write_spool(line.spool, source, sys::unix_now_ms());
  if (!kept) return report.failed(kept.error());
  const ExitCode code = report.failed(why);
  say(counted(*kept, "job") + " of run " + source.run + (*kept == 1 ? " waits in " : " wait in ") + line.spool +
      "; to send: kq submit --spool " + shell_quoted(line.spool) + (line.wait ? " --wait" : ""));
  if (line.json) {
    const auto listed = source.each([&](PackedJob&& job) {
      report.list().add(source.run, spooled_json(job));
      return Expected<void>();
    });
    if (!listed) return report.failed(listed.error());
  }
  // Jobs in a folder have no verdicts, so a call that waits for verdicts has failed.
  return line.wait ? code : ExitCode::ok;
}

// Sends the jobs that earlier calls left in the spool folder. Returns why it stopped, or nothing.
std::optional<Error> send_spooled(Client& client, const SubmitCommandLine& line, const SubmitOptions& options,
                                  AckPrinter& acks) {
  const SpoolEnd end = send_spool(client, line.spool, options, [&](const SubmitBatch& batch, const BatchEnd& sent) {
    acks.expect(batch.run, batch.jobs.size());
    for (std::size_t i = 0; i < sent.acks.size(); ++i) {
      if (sent.acks[i].acceptance == Acceptance::busy) continue;  // the broker did not take the job
      acks.add(batch.run, {batch.jobs[i].label, sent.acks[i], requirements_of(batch.jobs[i])});
    }
  });
  if (end.accepted_count > 0 && !line.quiet) say("sent " + counted(end.accepted_count, "job") + " from " + line.spool);
  return end.stopped;
}

ReadRows rows_of(Client& client, const std::string& run) {
  return [&client, run](std::vector<std::string> labels, const VisitRow& visit) {
    return each_row_of(client, run, std::move(labels), visit);
  };
}

// Waits for the jobs of one run, and tells and lists how they ended. Returns the exit code. `cancel` is called after an
// interrupt and returns the jobs that are cancelled then.
ExitCode wait_for_run(Client& client, SentRun& sent, const SubmitCommandLine& line,
                      std::optional<std::int64_t> timeout_ms, const std::function<std::vector<Sequence>()>& cancel,
                      Report& report) {
  const ReadRows read = rows_of(client, sent.summary.run);
  WaitList waited_jobs;
  ExitCode code = ExitCode::ok;
  Expected<WaitOutcome> waited = wait_with_progress(client, std::move(sent.to_wait_for), line, timeout_ms);
  if (waited) {
    code = exit_code_of(*waited);
    say_outcome(*waited, line, sent.summary, read, report);
    waited_jobs = std::move(waited->jobs);
    const std::string verdict(to_string(VerdictName::cancelled));
    for (const Sequence seq : code == ExitCode::interrupted ? cancel() : std::vector<Sequence>())
      waited_jobs.update({.seq = seq, .state = JobState::finished, .verdict = verdict});
  } else {
    code = report.failed(waited.error());
  }
  if (line.json) list_jobs(sent.summary, waited_jobs, read, report.list());
  return code;
}

// Returns the graver of two exit codes: of an interrupt, a fault of kq, bad input, a time limit, and a kernel.
ExitCode graver(ExitCode a, ExitCode b) {
  constexpr std::array kOrder{ExitCode::interrupted, ExitCode::our_fault, ExitCode::bad_input, ExitCode::gave_up,
                              ExitCode::job_failed};
  for (const ExitCode code : kOrder) {
    if (a == code || b == code) return code;
  }
  return a;
}

// Waits for the jobs of all runs, one run after the other.
ExitCode wait_for_verdicts(Client& client, AckPrinter& acks, const SubmitCommandLine& line, std::int64_t start_ms,
                           Report& report) {
  ExitCode code = ExitCode::ok;
  std::optional<std::vector<Sequence>> cancelled;  // empty before the offer, which is made once
  const auto cancel = [&] {
    if (!cancelled) cancelled = offer_to_cancel(client, acks.accepted());
    return *cancelled;
  };
  for (auto& [run, sent] : acks.runs()) {
    std::optional<std::int64_t> left_ms = line.timeout_ms;
    if (left_ms) *left_ms -= client.now_ms() - start_ms;
    code = graver(code, wait_for_run(client, sent, line, left_ms, cancel, report));
  }
  return code;
}

// Tells why sending stopped, and lists the jobs that were sent before. Returns the exit code.
ExitCode after_stop(const Error& stopped, AckPrinter& acks, const SubmitCommandLine& line, Report& report) {
  const ExitCode code = report.failed(stopped);
  for (auto& [run, sent] : acks.runs()) {
    const std::size_t accepted = sent.summary.count(Acceptance::accepted);
    if ((code == ExitCode::interrupted || code == ExitCode::gave_up) && accepted > 0)
      report.tell(resume_text(accepted, run, broker_argument(line)));
    for (const SubmittedJob& job : sent.summary.jobs) {
      if (line.json) report.list().add(run, job_json(job));
    }
  }
  return code;
}

// Sends the new jobs of the call. Returns why it stopped, or nothing. Rows that the call replaces are told also where
// the line is quiet, because their results leave the run.
std::optional<Error> send_new(Client& client, const JobSource& source, SubmitOptions options, AckPrinter& acks,
                              Report& report) {
  acks.expect(source.run, source.job_count);
  options.answered = [&](SubmittedJob job) { acks.add(source.run, std::move(job)); };
  options.connected = [&] {
    const auto sentence = replaced_rows(source, look_at_rows(client, source.run));
    if (!sentence) return;
    say(*sentence);
    report.add_note(*sentence);
  };
  return submit(client, source, options).stopped;
}

ExitCode send_and_wait(const Inspected& inspected, const SubmitCommandLine& line, Report& report) {
  watch_for_interrupt();
  Expected<Client> client = Client::connect(line.broker, line.key);
  if (!client) return report.failed(client.error());
  client->stop_when(interrupted);
  if (!line.quiet) client->on_silence(say);
  if (!line.quiet && line.broker.empty() && client->url() != net::kDefaultBrokerUrl)
    say("the broker is " + client->place());

  const std::int64_t start_ms = client->now_ms();
  SubmitOptions options{.timeout_ms = line.timeout_ms};
  if (!line.quiet) options.busy = BusyReporter([&] { return client->now_ms(); }, say);
  const JobSource& source = inspected.source;
  const bool has_new = !line.request.inputs.empty();
  bool any_bad = inspected.mistake_count > 0;
  if (!line.spool.empty()) {
    const auto in_spool = spooled(line.spool);
    if (in_spool && in_spool->empty() && !has_new)
      return report.failed({ErrorKind::not_found, line.spool + " holds no jobs that wait for a broker"});
    const auto there = client->ask_for<BrokerReply>(BrokerQuery{}, kSpoolAnswerMs);
    if (!there && there.error().kind == ErrorKind::our_fault && has_new)
      return final_code(keep_in_spool(line, source, there.error(), report), any_bad, line.exit_zero);
  }
  if (!line.share.empty()) {
    const ShareRun request{.run = source.run, .names = line.share, .submitter = source.submitter};
    if (const auto shared = client->ask_for<Done>(request); !shared)
      return report.failed({shared.error().kind, "--share: " + shared.error().message});
  }
  AckPrinter acks(line, report.list());
  std::optional<Error> stopped;
  if (!line.spool.empty()) stopped = send_spooled(*client, line, options, acks);
  if (stopped && stopped->kind == ErrorKind::bad_input && has_new) {  // a broken batch does not hold up the new jobs
    report.failed(*stopped);
    any_bad = true;
    stopped.reset();
  }
  if (!stopped && has_new) stopped = send_new(*client, source, options, acks, report);
  acks.finish();
  for (const auto& [run, sent] : acks.runs()) {
    if (!line.quiet && line.progress != ProgressStyle::json && sent.summary.answered_count() > 0)
      say(counts_text(sent.summary));
  }
  any_bad = any_bad || acks.refused_count() > 0;
  ExitCode code = ExitCode::ok;
  if (stopped && stopped->kind == ErrorKind::our_fault && has_new && !line.spool.empty()) {
    code = keep_in_spool(line, source, *stopped, report);
  } else if (stopped) {
    code = after_stop(*stopped, acks, line, report);
  } else if (line.wait) {
    code = wait_for_verdicts(*client, acks, line, start_ms, report);
  } else if (line.json) {
    WaitList none;
    for (const auto& [run, sent] : acks.runs()) list_jobs(sent.summary, none, rows_of(*client, run), report.list());
  }
  return final_code(code, any_bad, line.exit_zero);
}

ExitCode show_dry_run(const Inspected& inspected, const SubmitCommandLine& line, Report& report) {
  if (!line.quiet) {
    for (const RecognisedInput& recognised : inspected.recognised) say(recognised_text(recognised));
  }
  const auto shown = inspected.source.each([&](PackedJob&& job) {
    line.json ? report.list().add(inspected.source.run, dry_run_json(job)) : print(dry_run_line(job));
    return Expected<void>();
  });
  if (!shown) return report.failed(shown.error());
  return inspected.mistake_count == 0 ? ExitCode::ok : ExitCode::bad_input;
}

// Prints the mistakes that are kept, and the number of the others.
void say_mistakes(const Inspected& inspected, Report& report) {
  std::vector<std::string> mistakes = inspected.mistakes;
  for (const std::string& mistake : mistakes) report.add_error(mistake);
  mistakes.resize(inspected.mistake_count);
  std::fputs(listed(kProgram, mistakes).c_str(), stderr);
}

ExitCode run(SubmitCommandLine line, Report& report) {
  if (line.force_rerun) {
    const Expected<std::string> salt = random_salt();
    if (!salt) return report.failed(salt.error());
    line.request.salt = *salt;
  }
  std::optional<SpooledStdin> stdin_file;
  if (line.reads_stdin) {
    Expected<SpooledStdin> file = SpooledStdin::read(STDIN_FILENO);
    if (!file) return report.failed(file.error());
    stdin_file.emplace(std::move(*file));
    line.request.inputs = {stdin_file->path()};
    line.request.options.input_name = "standard input";
  }
  for (const std::string& note : line.notes) {
    if (!line.quiet) say(note);
    report.add_note(note);
  }
  if (!line.key.empty()) {
    // A key that cannot be read is reported when the client connects.
    if (const auto key = net::read_client_key(line.key)) line.request.run_owner = key->who.name;
  }
  const Inspected inspected = inspect(line.request);
  report.name_run(inspected.source.run);
  report.count_left_out(inspected.left_out_count);
  say_mistakes(inspected, report);
  if (inspected.mistake_count > 0 && (!line.keep_going || inspected.source.job_count == 0)) {
    say(inspected.source.job_count > 0 ? "nothing was sent; --keep-going sends the rest" : "nothing was sent");
    return ExitCode::bad_input;
  }
  for (const std::string& note : inspected.notes) {
    if (!line.quiet) say(note);
    report.add_note(note);
  }
  if (inspected.source.job_count == 0 && !line.request.inputs.empty())
    return report.failed({ErrorKind::not_found, "there is nothing to send"});
  const ExitCode code = line.dry_run ? show_dry_run(inspected, line, report) : send_and_wait(inspected, line, report);
  if (inspected.left_out_count > 0) say(left_out_text(inspected.left_out_count, "submitted"));
  return code;
}

int submit_main(int argc, char** argv) {
  const auto parsed = parse_submit_command_line(argc, argv);
  if (const EarlyEnd* end = std::get_if<EarlyEnd>(&parsed)) {
    if (end->code == ExitCode::ok) {
      print(end->text);
      return static_cast<int>(end->code);
    }
    Report report(std::find(argv, argv + argc, std::string_view("--json")) != argv + argc);
    report.name_run(end->run);
    report.tell(end->text);
    return report.end(end->code);
  }
  const SubmitCommandLine& line = std::get<SubmitCommandLine>(parsed);
  Report report(line.json);
  return report.end(run(line, report));
}

}  // namespace
}  // namespace kq::producer

int main(int argc, char** argv) {
  kq::producer::StandardOutput output(kq::producer::kProgram);
  int code = static_cast<int>(kq::ExitCode::our_fault);
  try {
    code = kq::producer::submit_main(argc, argv);
  } catch (const std::exception& error) {  // only std::bad_alloc arrives here
    kq::producer::say(error.what());
  }
  return output.end(code);
}
