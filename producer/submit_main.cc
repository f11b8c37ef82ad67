// kq-submit: arguments -> validated jobs -> acknowledged jobs -> verdicts, and one exit code for all of it.
#include <signal.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "core/hash.h"
#include "producer/progress.h"
#include "producer/sentences.h"
#include "producer/submit.h"
#include "producer/submit_command_line.h"
#include "producer/submit_output.h"

namespace kq {
namespace {

constexpr const char* kProgram = "kq-submit";

// A signal handler can reach nothing but a global.
volatile sig_atomic_t g_interrupted = 0;
bool interrupted() {
  return g_interrupted != 0;
}

void say(const std::string& sentence) {
  std::fputs((std::string(kProgram) + ": " + one_line(sentence) + "\n").c_str(), stderr);
}

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

// The first ^C ends the work in order, the second one at once.
void watch_for_interrupt() {
  struct sigaction action {};
  action.sa_handler = [](int) { g_interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // and no SA_RESTART: waits end early
  sigaction(SIGINT, &action, nullptr);
}

Expected<std::string> random_salt() {
  std::array<char, 16> bytes{};
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return our_fault(std::string("no random numbers for --force-rerun: ") + std::strerror(errno));
  }
  return to_hex(sha256({bytes.data(), bytes.size()})).substr(0, 32);
}

// Progress goes to standard error; the outcome is left to the caller.
Expected<WaitOutcome> wait_with_progress(Client& client, const SubmitSummary& summary, const SubmitCommandLine& line,
                                         std::optional<std::int64_t> timeout_ms) {
  WaitOptions options = real_wait_options();
  options.timeout_ms = timeout_ms;
  options.interrupted = interrupted;
  StatusLine status(stderr_status_line(), options.now_ms());
  if (!line.quiet) options.progress = [&](const Tally& tally) { status.update(tally, options.now_ms()); };
  return wait_for(client, summary.to_wait_for(), options);
}

void say_outcome(const WaitOutcome& outcome, const SubmitCommandLine& line, const std::string& run) {
  const std::size_t unfinished = outcome.tally.total - outcome.tally.finished;
  if (outcome.end == WaitEnd::timed_out) say("--timeout is over; " + resume_text(unfinished, run));
  if (outcome.end == WaitEnd::interrupted) say("interrupted; " + resume_text(unfinished, run));
  if (!line.quiet) say(summary_text(outcome.tally));
}

// What the machines failed at outweighs bad input, and that outweighs a kernel that did not pass.
ExitCode final_code(ExitCode code, bool any_bad_input, bool exit_zero) {
  if (any_bad_input && (code == ExitCode::ok || code == ExitCode::job_failed)) return ExitCode::bad_input;
  if (exit_zero && code == ExitCode::job_failed) return ExitCode::ok;
  return code;
}

ExitCode send_and_wait(const Prepared& prepared, const SubmitCommandLine& line) {
  watch_for_interrupt();
  Expected<Client> client = Client::connect(line.broker, line.key);
  if (!client) {
    say(client.error().message);
    return client.error().code;
  }
  client->stop_when(interrupted);

  const std::int64_t start_ms = client->now_ms();
  SubmitOptions options{.timeout_ms = line.timeout_ms};
  if (!line.quiet) options.busy = BusyNews([&] { return client->now_ms(); }, say);
  const SubmitSummary summary = submit(*client, prepared, options);
  if (!line.json) print(job_numbers(summary));
  std::fflush(stdout);
  std::vector<std::string> refusals;
  for (const SubmittedJob& job : summary.jobs) {
    if (job.ack.acceptance == Acceptance::refused) refusals.push_back("refused " + job.label + ": " + job.ack.reason);
  }
  std::fputs(listed(kProgram, refusals).c_str(), stderr);
  if (!line.quiet && !summary.jobs.empty()) say(counts_text(summary));

  ExitCode code = ExitCode::ok;
  std::optional<WaitOutcome> outcome;
  if (summary.stopped) {
    say(summary.stopped->message);
    code = summary.stopped->code;
    const std::size_t accepted = summary.count(Acceptance::accepted);
    if ((code == ExitCode::interrupted || code == ExitCode::gave_up) && accepted > 0) say(resume_text(accepted, summary.run));
  } else if (line.wait) {
    std::optional<std::int64_t> left_ms = line.timeout_ms;
    if (left_ms) *left_ms -= client->now_ms() - start_ms;
    const Expected<WaitOutcome> waited = wait_with_progress(*client, summary, line, left_ms);
    if (waited) {
      outcome = *waited;
      code = exit_code_of(*waited);
      say_outcome(*waited, line, summary.run);
    } else {
      say(waited.error().message);
      code = waited.error().code;
    }
  }
  if (line.json) print(summary_json(summary, outcome ? &*outcome : nullptr));
  return final_code(code, !refusals.empty() || !prepared.mistakes.empty(), line.exit_zero);
}

ExitCode run(SubmitCommandLine line) {
  if (line.force_rerun) {
    const Expected<std::string> salt = random_salt();
    if (!salt) {
      say(salt.error().message);
      return salt.error().code;
    }
    line.request.salt = *salt;
  }
  const Prepared prepared = prepare(line.request);
  std::fputs(listed(kProgram, prepared.mistakes).c_str(), stderr);
  if (!prepared.mistakes.empty() && (!line.keep_going || prepared.jobs.empty())) {
    say("nothing was sent");
    return ExitCode::bad_input;
  }
  if (line.dry_run) {
    print(line.json ? dry_run_json(prepared) : dry_run_text(prepared));
    return prepared.mistakes.empty() ? ExitCode::ok : ExitCode::bad_input;
  }
  return send_and_wait(prepared, line);
}

ExitCode main_of(int argc, char** argv) {
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
}  // namespace kq

int main(int argc, char** argv) {
  kq::ExitCode code = kq::ExitCode::our_fault;
  try {
    code = kq::main_of(argc, argv);
  } catch (const std::exception& error) {  // out of memory; everything else is caught where it is thrown
    kq::say(error.what());
  }
  if (std::fflush(stdout) != 0) {
    kq::say(std::string("standard output: ") + std::strerror(errno));
    code = kq::ExitCode::our_fault;
  }
  return static_cast<int>(code);
}
