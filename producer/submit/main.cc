// The program kq-submit. It makes jobs from its inputs, sends them to a broker, and with --wait waits for their
// verdicts.
//
// Numbers or JSON go to standard output; progress, refusals and errors go to standard error. The exit codes are those
// of core/base/error.h. The first SIGINT ends sending or waiting. After --wait a second SIGINT within 2 s cancels the
// jobs that this call submitted. Every SIGINT after the second ends the process at once.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
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

// The number of SIGINTs. It is global because a signal handler can only access global variables.
volatile sig_atomic_t g_interrupts = 0;
bool interrupted() {
  return g_interrupts > 0;
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
}

// Prints each acknowledgement when it arrives: numbers or JSON objects on standard output, and progress and refusals on
// standard error. Collects the jobs to wait for.
class AckPrinter {
 public:
  AckPrinter(const SubmitCommandLine& line, const JobSource& source)
      : line_(line), job_count_(source.job_count), list_(source.run, print) {
    summary_.run = source.run;
    status_ = stderr_status_line();
  }

  void add(SubmittedJob job) {
    summary_.count_one(job.ack.acceptance);
    if (job.ack.acceptance == Acceptance::refused && refusals_.size() <= kSentencesShown)
      refusals_.push_back("refused " + job.label + ": " + job.ack.reason);
    if (job.ack.acceptance == Acceptance::accepted && line_.wait) accepted_.push_back(job.ack.seq);
    if (!line_.json && job.ack.seq != 0) print_number(job.ack.seq);
    if (line_.json && !line_.wait) list_.add(job_json(job));
    if (line_.wait && job.ack.seq != 0) to_wait_for_.add({job.ack.seq, job.needs});
    // After the wait these are printed with their verdicts.
    if (line_.wait && (line_.json || summary_.jobs.size() < kToldJobsMax)) summary_.jobs.push_back(std::move(job));
    show();
  }

  // Removes the progress line, and then prints the refusals.
  void finish() {
    if (is_shown_) status_.write("\r\x1b[K");
    is_shown_ = false;
    if (const std::string numbers = numbers_.text(); !numbers.empty() && !line_.quiet) print(numbers + "\n");
    std::cout.flush();
    if (line_.progress == ProgressStyle::json && !line_.quiet)
      std::fputs(sent_event(summary_, job_count_).c_str(), stderr);
    const std::size_t refused_count = summary_.count(Acceptance::refused);
    if (refused_count > refusals_.size())
      refusals_.resize(refused_count);  // listed() counts those that it does not show
    std::fputs(listed(kProgram, refusals_).c_str(), stderr);
  }

  SubmitSummary& summary() { return summary_; }
  JobList& list() { return list_; }
  WaitList& to_wait_for() { return to_wait_for_; }
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

  void show() {
    const std::int64_t now_ms = sys::monotonic_now_ms();
    if (line_.quiet || line_.progress == ProgressStyle::none || now_ms - shown_ms_ < kShowMs) return;
    shown_ms_ = now_ms;
    if (line_.progress == ProgressStyle::json) {
      std::fputs(sent_event(summary_, job_count_).c_str(), stderr);
    } else if (status_.in_place) {
      status_.write("\r\x1b[K" + sending_text(summary_.answered_count(), job_count_));
      is_shown_ = true;
    }
  }

  const SubmitCommandLine& line_;
  const std::size_t job_count_;
  const bool is_terminal_ = ::isatty(STDOUT_FILENO) == 1;
  NumberRanges numbers_;  // used for a terminal
  SubmitSummary summary_;
  WaitList to_wait_for_;
  JobList list_;
  StatusLineOptions status_;
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
// calls are not cancelled.
void offer_to_cancel(Client& client, const std::vector<Sequence>& accepted) {
  if (accepted.empty()) return;
  say("^C again within 2 s cancels the " + counted(accepted.size(), "job") + " of this call");
  const std::int64_t end_ms = sys::monotonic_now_ms() + kSecondInterruptMs;
  while (g_interrupts < kInterruptsCounted && sys::monotonic_now_ms() < end_ms) ::usleep(10'000);
  if (g_interrupts < kInterruptsCounted) return;
  client.stop_when([] { return false; });
  std::size_t cancelled_count = 0;
  for (std::size_t first = 0; first < accepted.size(); first += kQuerySeqsMax) {
    const auto end = accepted.begin() + static_cast<std::ptrdiff_t>(std::min(first + kQuerySeqsMax, accepted.size()));
    const auto reply = client.ask_for<ActionReply>(
        CancelJobs{{accepted.begin() + static_cast<std::ptrdiff_t>(first), end}}, kSubmitTimeoutMs);
    if (!reply) return say("not cancelled: " + reply.error().message);
    cancelled_count += static_cast<std::size_t>(
        std::count_if(reply->jobs.begin(), reply->jobs.end(), [](const JobAction& job) { return job.done; }));
  }
  say("cancelled " + counted(cancelled_count, "job"));
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
                 const ReadRows& read) {
  const std::size_t unfinished = outcome.tally().total - outcome.tally().finished;
  if (outcome.end == WaitEnd::timed_out)
    say("--timeout is over; " + resume_text(unfinished, summary.run, broker_argument(line)));
  if (outcome.end == WaitEnd::interrupted)
    say("interrupted; " + resume_text(unfinished, summary.run, broker_argument(line)));
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
ExitCode keep_in_spool(const SubmitCommandLine& line, const JobSource& source, const Error& why) {
  const auto kept = write_spool(line.spool, source, sys::unix_now_ms());
  if (!kept) {
    say(kept.error().message);
    return exit_code(kept.error().kind);
  }
  say(why.message);
  say(counted(*kept, "job") + " of run " + source.run + (*kept == 1 ? " waits in " : " wait in ") + line.spool +
      "; to send: kq submit --spool " + line.spool);
  return ExitCode::ok;
}

// Sends the jobs that earlier calls left in the spool folder.
ExitCode send_spooled(Client& client, const SubmitCommandLine& line, const SubmitOptions& options) {
  const SpoolEnd end = send_spool(client, line.spool, options);
  std::fputs(listed(kProgram, end.refusals).c_str(), stderr);
  if (end.accepted_count > 0 && !line.quiet) say("sent " + counted(end.accepted_count, "job") + " from " + line.spool);
  if (!end.stopped) return end.refusals.empty() ? ExitCode::ok : ExitCode::bad_input;
  say(end.stopped->message);
  return exit_code(end.stopped->kind);
}

// Reports why sending stopped, or waits for the jobs if --wait asks for it. Returns the exit code of the broker's part.
ExitCode after_sending(Client& client, AckPrinter& acks, const SubmitCommandLine& line, std::int64_t start_ms) {
  const SubmitSummary& summary = acks.summary();
  const ReadRows read = [&](std::vector<std::string> labels, const VisitRow& visit) {
    return each_row_of(client, summary.run, std::move(labels), visit);
  };
  WaitList waited_jobs;
  ExitCode code = ExitCode::ok;
  if (summary.stopped) {
    say(summary.stopped->message);
    code = exit_code(summary.stopped->kind);
    const std::size_t accepted = summary.count(Acceptance::accepted);
    if ((code == ExitCode::interrupted || code == ExitCode::gave_up) && accepted > 0)
      say(resume_text(accepted, summary.run, broker_argument(line)));
  } else if (line.wait) {
    std::optional<std::int64_t> left_ms = line.timeout_ms;
    if (left_ms) *left_ms -= client.now_ms() - start_ms;
    Expected<WaitOutcome> waited = wait_with_progress(client, std::move(acks.to_wait_for()), line, left_ms);
    if (waited) {
      code = exit_code_of(*waited);
      say_outcome(*waited, line, summary, read);
      waited_jobs = std::move(waited->jobs);
    } else {
      say(waited.error().message);
      code = exit_code(waited.error().kind);
    }
  }
  if (line.json && line.wait) list_jobs(summary, waited_jobs, read, acks.list());
  if (line.json) acks.list().end();
  if (code == ExitCode::interrupted && line.wait) offer_to_cancel(client, acks.accepted());
  return code;
}

ExitCode send_and_wait(const Inspected& inspected, const SubmitCommandLine& line) {
  watch_for_interrupt();
  Expected<Client> client = Client::connect(line.broker, line.key);
  if (!client) {
    say(client.error().message);
    return exit_code(client.error().kind);
  }
  client->stop_when(interrupted);
  if (!line.quiet) client->on_silence(say);
  if (!line.quiet && line.broker.empty() && client->url() != net::kDefaultBrokerUrl)
    say("the broker is " + client->place());

  const std::int64_t start_ms = client->now_ms();
  SubmitOptions options{.timeout_ms = line.timeout_ms};
  if (!line.quiet) options.busy = BusyReporter([&] { return client->now_ms(); }, say);
  const JobSource& source = inspected.source;
  const bool has_new = !line.request.inputs.empty();
  ExitCode spool_code = ExitCode::ok;
  if (!line.spool.empty()) {
    const auto in_spool = spooled(line.spool);
    if (in_spool && in_spool->empty() && !has_new) {
      say(line.spool + " holds no jobs that wait for a broker");
      return ExitCode::nothing;
    }
    const auto there = client->ask_for<BrokerReply>(BrokerQuery{}, kSpoolAnswerMs);
    if (!there && there.error().kind == ErrorKind::our_fault && has_new)
      return keep_in_spool(line, source, there.error());
    spool_code = send_spooled(*client, line, options);
    if (!has_new || spool_code == ExitCode::our_fault || spool_code == ExitCode::interrupted) return spool_code;
  }
  if (!line.share.empty()) {
    const ShareRun request{.run = source.run, .names = line.share, .submitter = source.submitter};
    if (const auto shared = client->ask_for<Done>(request); !shared) {
      say("--share: " + shared.error().message);
      return exit_code(shared.error().kind);
    }
  }
  AckPrinter acks(line, source);
  options.answered = [&](SubmittedJob job) { acks.add(std::move(job)); };
  if (!line.quiet) {
    options.connected = [&] {
      if (const auto sentence = replaced_rows(source, look_at_rows(*client, source.run))) say(*sentence);
    };
  }
  acks.summary().stopped = submit(*client, source, options).stopped;
  acks.finish();
  const SubmitSummary& summary = acks.summary();
  if (!line.quiet && line.progress != ProgressStyle::json && summary.answered_count() > 0) say(counts_text(summary));
  if (summary.stopped && summary.stopped->kind == ErrorKind::our_fault && !line.spool.empty())
    return keep_in_spool(line, source, *summary.stopped);
  const ExitCode code = after_sending(*client, acks, line, start_ms);
  const bool any_bad =
      summary.count(Acceptance::refused) > 0 || inspected.mistake_count > 0 || spool_code == ExitCode::bad_input;
  return final_code(code, any_bad, line.exit_zero);
}

ExitCode show_dry_run(const Inspected& inspected, const SubmitCommandLine& line) {
  if (!line.quiet) {
    for (const RecognisedInput& recognised : inspected.recognised) say(recognised_text(recognised));
  }
  JobList list(inspected.source.run, print);
  const auto shown = inspected.source.each([&](PackedJob&& job) {
    line.json ? list.add(dry_run_json(job)) : print(dry_run_line(job));
    return Expected<void>();
  });
  if (line.json) list.end();
  if (!shown) say(shown.error().message);
  return shown && inspected.mistake_count == 0 ? ExitCode::ok : ExitCode::bad_input;
}

// Prints the mistakes that are kept, and the number of the others.
void say_mistakes(const Inspected& inspected) {
  std::vector<std::string> mistakes = inspected.mistakes;
  mistakes.resize(inspected.mistake_count);
  std::fputs(listed(kProgram, mistakes).c_str(), stderr);
}

ExitCode run(SubmitCommandLine line) {
  if (line.force_rerun) {
    const Expected<std::string> salt = random_salt();
    if (!salt) {
      say(salt.error().message);
      return exit_code(salt.error().kind);
    }
    line.request.salt = *salt;
  }
  std::optional<SpooledStdin> stdin_file;
  if (line.reads_stdin) {
    Expected<SpooledStdin> file = SpooledStdin::read(STDIN_FILENO);
    if (!file) {
      say(file.error().message);
      return exit_code(file.error().kind);
    }
    stdin_file.emplace(std::move(*file));
    line.request.inputs = {stdin_file->path()};
    line.request.options.input_name = "standard input";
  }
  if (!line.quiet) {
    for (const std::string& note : line.notes) say(note);
  }
  if (!line.key.empty()) {
    // A key that cannot be read is reported when the client connects.
    if (const auto key = net::read_client_key(line.key)) line.request.run_owner = key->who.name;
  }
  const Inspected inspected = inspect(line.request);
  say_mistakes(inspected);
  if (inspected.mistake_count > 0 && (!line.keep_going || inspected.source.job_count == 0)) {
    say(inspected.source.job_count > 0 ? "nothing was sent; --keep-going sends the rest" : "nothing was sent");
    return ExitCode::bad_input;
  }
  if (!line.quiet) {
    for (const std::string& note : inspected.notes) say(note);
  }
  if (inspected.source.job_count == 0 && !line.request.inputs.empty()) {
    say("there is nothing to send");
    return ExitCode::nothing;
  }
  const ExitCode code = line.dry_run ? show_dry_run(inspected, line) : send_and_wait(inspected, line);
  if (inspected.left_out_count > 0) say(left_out_text(inspected.left_out_count, "submitted"));
  return code;
}

ExitCode submit_main(int argc, char** argv) {
  const auto parsed = parse_submit_command_line(argc, argv);
  if (const EarlyEnd* end = std::get_if<EarlyEnd>(&parsed)) {
    if (end->code == ExitCode::ok) {
      print(end->text);
    } else {
      say(end->text);
    }
    return end->code;
  }
  return run(std::get<SubmitCommandLine>(parsed));
}

}  // namespace
}  // namespace kq::producer

int main(int argc, char** argv) {
  kq::producer::StandardOutput output(kq::producer::kProgram);
  kq::ExitCode code = kq::ExitCode::our_fault;
  try {
    code = kq::producer::submit_main(argc, argv);
  } catch (const std::exception& error) {  // only std::bad_alloc arrives here
    kq::producer::say(error.what());
  }
  return output.end(static_cast<int>(code));
}
