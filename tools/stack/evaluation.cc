#include "tools/stack/evaluation.h"

#include <iostream>

#include "sys/clock.h"
#include "tools/cli/text.h"
#include "tools/views/sweep_report.h"

namespace kq::tools {
namespace {

// How long the status line does not report jobs that no worker serves, because our own worker may still be starting.
constexpr std::int64_t kWorkerStartMs = 20'000;

Expected<void> complain_of_refused(const producer::SubmitSummary& submitted) {
  for (const producer::SubmittedJob& job : submitted.jobs) {
    if (job.ack.acceptance != Acceptance::refused) continue;
    return our_fault("the broker refused " + std::to_string(submitted.count(Acceptance::refused)) + " of " +
                     std::to_string(submitted.jobs.size()) + " jobs, the first is " + printable(job.label) + ": " +
                     printable(job.ack.reason));
  }
  return {};
}

}  // namespace

Expected<producer::WaitOutcome> Evaluation::run(const producer::Prepared& prepared, const Gather& gather) {
  Expected<producer::WaitOutcome> outcome = evaluate(prepared, gather);
  if (stack_) stack_->stop([&](std::int64_t ms) { return signals_.take(ms).has_value(); });
  if (signal_) return failure({ErrorKind::interrupted, "interrupted"});
  return outcome;
}

Expected<producer::WaitOutcome> Evaluation::evaluate(const producer::Prepared& prepared, const Gather& gather) {
  const Expected<std::string> url = plan_.broker.empty() ? start_stack() : plan_.broker;
  if (!url) return failure(url.error());
  Expected<producer::Client> client = producer::Client::connect(*url, plan_.broker.empty() ? "" : plan_.key);
  if (!client) return failure(client.error());
  client->stop_when([&] { return interrupted(); });

  producer::SubmitOptions options;
  if (plan_.timeout_s) options.timeout_ms = static_cast<std::int64_t>(*plan_.timeout_s * 1e3);
  options.busy = producer::BusyReporter(sys::monotonic_now_ms, [&](const std::string& news) {
    std::cerr << plan_.program << ": " << printable(news) << '\n';
    start_worker();  // without a worker the queue would stay full
  });
  const producer::SubmitSummary submitted = producer::submit(*client, prepared, options);
  std::cerr << plan_.program << ": run " << printable(submitted.run) << ": " << submitted_text(submitted) << '\n';
  if (submitted.stopped) return stopped(*submitted.stopped);
  KQ_TRY(complain_of_refused(submitted));

  Expected<producer::WaitOutcome> outcome = wait(*client, submitted);
  if (!outcome) return stopped(outcome.error());
  if (outcome->end == producer::WaitEnd::interrupted) return stopped({ErrorKind::interrupted, "interrupted"});
  if (const auto gathered = gather(*client, submitted); !gathered) return stopped(gathered.error());
  return outcome;
}

Expected<std::string> Evaluation::start_stack() {
  Expected<std::string> state = plan_.state.empty() ? default_state_folder(process_environment) : plan_.state;
  if (!state) return state;
  Expected<std::unique_ptr<Stack>> stack = Stack::start({.state_folder = *state,
                                                         .broker_url = "",
                                                         .devices = plan_.device == "any" ? "auto" : plan_.device,
                                                         .programs = program_folder()},
                                                        [&](std::int64_t ms) { return sleep(ms); });
  if (!stack) return failure(stack.error());
  stack_ = std::move(*stack);
  std::cerr << plan_.program << ": started a broker in " << stack_->folder().path() << '\n';
  return stack_->broker_url();
}

// Starts the worker of our own stack, if there is one. Called only when a job is left to do: a batch whose results are
// all reused needs no worker.
void Evaluation::start_worker() {
  if (!stack_ || stack_error_) return;
  if (const auto started = stack_->start_worker([&](std::int64_t ms) { return sleep(ms); }); !started)
    stack_error_ = started.error();
}

// Restarts a program of the stack that has ended, and takes stop signals. Returns whether waiting should end.
bool Evaluation::interrupted() {
  if (stack_ && !stack_error_) {
    const Expected<std::optional<std::string>> note = stack_->restart_ended();
    if (!note) stack_error_ = note.error();
    if (note && *note) {
      if (line_ != nullptr) line_->end();
      std::cerr << plan_.program << ": " << **note << '\n';
    }
  }
  return sleep(0) || stack_error_.has_value();
}

bool Evaluation::sleep(std::int64_t ms) {
  if (!signal_) signal_ = signals_.take(ms);
  return signal_.has_value();
}

// Returns the Error of the stack if it has failed, because that failure interrupts everything else; else `error`.
tl::unexpected<Error> Evaluation::stopped(const Error& error) const {
  return failure(stack_error_ ? *stack_error_ : error);
}

Expected<producer::WaitOutcome> Evaluation::wait(producer::Client& client, const producer::SubmitSummary& submitted) {
  producer::StatusLine line(producer::stderr_status_line(), sys::monotonic_now_ms());
  line_ = &line;
  producer::WaitOptions options = producer::real_wait_options();
  if (plan_.timeout_s) options.timeout_ms = static_cast<std::int64_t>(*plan_.timeout_s * 1e3);
  options.sleep_ms = [&](std::int64_t ms) { sleep(ms); };
  options.interrupted = [&] { return interrupted(); };
  const std::int64_t start_ms = sys::monotonic_now_ms();
  options.progress = [&](const producer::Tally& tally) {
    if (tally.finished < tally.total) start_worker();
    const std::int64_t now_ms = sys::monotonic_now_ms();
    producer::Tally shown = tally;
    if (stack_ && now_ms - start_ms < kWorkerStartMs) shown.unserved.clear();  // our worker is starting
    line.update(shown, now_ms);
  };
  Expected<producer::WaitOutcome> outcome = producer::wait_for(client, submitted.to_wait_for(), options);
  line_ = nullptr;
  return outcome;
}

}  // namespace kq::tools
