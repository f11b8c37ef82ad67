#include "tools/stack/evaluation.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <set>

#include "core/base/own_share.h"
#include "core/limits.h"
#include "producer/client/sentences.h"
#include "producer/client/submitter.h"
#include "producer/submit/replaced_rows.h"
#include "sys/clock.h"
#include "tools/cli/default_place.h"
#include "tools/cli/source.h"
#include "tools/cli/text.h"
#include "tools/ctl/broker_requests.h"
#include "tools/ctl/why.h"
#include "tools/stack/stall_watch.h"
#include "tools/views/sweep_report.h"

namespace kq::tools {
namespace {

// How long the status line does not report jobs that no worker serves, because our own worker may still be starting.
constexpr std::int64_t kWorkerStartMs = 20'000;

constexpr std::size_t kCommandBytesMax = 500;  // a longer command is not printed

// The longest time for reading the rows of a run after a stop signal.
constexpr std::int64_t kGatherAfterSignalMs = 5'000;

// Between two looks at the process that holds the state folder.
constexpr std::int64_t kHolderPollMs = 300;

// Returns the reason for which the first unfinished job waits. Without an answer of the broker, returns nothing.
std::optional<std::string> why_first_waits(producer::Client& client, const producer::SubmitSummary& submitted,
                                           std::int64_t unix_now_ms) {
  std::vector<Sequence> seqs;
  for (const producer::SubmittedJob& job : submitted.jobs) seqs.push_back(job.ack.seq);
  std::sort(seqs.begin(), seqs.end());
  auto why = why_first_unfinished(client, seqs, unix_now_ms);
  return why ? *why : std::nullopt;
}

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

void resume_submitters(const std::string& url, const std::vector<std::string>& submitters) {
  if (submitters.empty()) return;
  auto client = producer::Client::connect(url, "");
  for (std::size_t i = 0; client && i < submitters.size(); ++i) {
    if (!ask<Done>(*client, Pause{submitters[i], false})) return;
  }
}

Expected<producer::WaitOutcome> Evaluation::run(const producer::Prepared& prepared, const Gather& gather) {
  Expected<producer::WaitOutcome> outcome = evaluate(prepared, gather);
  resume_others();
  has_own_stack_ = stack_ != nullptr;
  if (stack_) stack_->stop([&](std::int64_t ms) { return signals_.take(ms).has_value(); });
  stack_.reset();  // from here on programs that look for a broker do not take this process for one
  if (signal_) return failure({ErrorKind::interrupted, "interrupted"});
  return outcome;
}

Expected<producer::WaitOutcome> Evaluation::evaluate(const producer::Prepared& wanted, const Gather& gather) {
  KQ_TRY_VALUE(url_, find_broker());
  Expected<producer::Client> client = producer::Client::connect(url_, key_of_broker());
  if (!client) return failure(client.error());
  client->stop_when([&] { return interrupted(); });

  producer::SubmitOptions options;
  if (plan_.timeout_s) options.timeout_ms = static_cast<std::int64_t>(*plan_.timeout_s * 1e3);
  options.busy = producer::BusyReporter(sys::monotonic_now_ms, [&](const std::string& news) {
    tell(news);
    start_worker();  // without a worker the queue would stay full
  });
  producer::Prepared prepared = wanted;
  if (!state_.empty()) put_first(*client, prepared);
  if (const auto sentence = producer::replaced_rows(prepared, producer::look_at_rows(*client, prepared.run))) {
    tell(*sentence);
    notes_.push_back(*sentence);
  }
  const producer::SubmitSummary submitted = producer::submit(*client, prepared, options);
  has_submitted_ = submitted.answered_count() > submitted.count(Acceptance::refused);
  say("run " + submitted.run + ": " + submitted_text(submitted));
  if (submitted.stopped) return stopped(*submitted.stopped);
  KQ_TRY(complain_of_refused(submitted));

  if (!state_.empty()) {
    if (const auto held = hold_others(*client, submitted); !held) return stopped(held.error());
  }

  Expected<producer::WaitOutcome> outcome = wait(*client, submitted);
  if (!outcome) return stopped(outcome.error());
  if (outcome->end == producer::WaitEnd::interrupted) {
    gather_after_signal(submitted, gather);
    return stopped({ErrorKind::interrupted, "interrupted"});
  }
  if (const auto gathered = gather(*client, submitted); !gathered) return stopped(gathered.error());
  return outcome;
}

// Returns the URL of the broker that the plan names, of the process that holds the state folder, or of a new stack.
Expected<std::string> Evaluation::find_broker() {
  if (!plan_.broker.empty()) return plan_.broker;
  KQ_TRY_VALUE(state_, plan_.state.empty() ? default_state_folder(process_environment) : plan_.state);
  for (bool is_told = false;;) {
    const std::optional<StackRecord> holder = holder_of(state_);
    if (!holder) {
      auto url = start_stack();
      if (url || !holder_of(state_)) return url;
      continue;  // another process was faster
    }
    if (!holder->url.empty()) {
      say("process " + std::to_string(holder->pid) + " runs a broker in state folder " + state_ +
          "; this run shares it, and its worker");
      return holder->url;
    }
    if (!is_told) say("waiting for another process, which is starting or stopping in state folder " + state_);
    is_told = true;
    if (sleep(kHolderPollMs)) return failure(Error{ErrorKind::interrupted, "interrupted"});
  }
}

// Returns the key file for the broker. A broker that listens at a socket was started by a sweep and has no keys.
std::string Evaluation::key_of_broker() const {
  const bool is_of_sweep = !state_.empty() && url_.starts_with("ipc://");
  return stack_ || is_of_sweep ? "" : plan_.key;
}

StackPlan Evaluation::stack_plan() const {
  return {.state_folder = state_,
          .broker_url = "",
          .devices = plan_.device == "any" ? "auto" : plan_.device,
          .programs = program_folder()};
}

Expected<std::string> Evaluation::start_stack() {
  auto stack = Stack::start(stack_plan(), [&](std::int64_t ms) { return sleep(ms); });
  if (!stack) return failure(stack.error());
  stack_ = std::move(*stack);
  say("started a broker in " + stack_->folder().path());
  resume_submitters(stack_->broker_url(), stack_->left_paused());
  stack_->record_paused({});
  return stack_->broker_url();
}

// Starts an own stack once the process whose broker this run shares has ended. Jobs and results are in the store.
void Evaluation::take_over() {
  const std::int64_t now_ms = sys::monotonic_now_ms();
  if (now_ms - holder_seen_ms_ < kHolderPollMs) return;
  holder_seen_ms_ = now_ms;
  if (holder_of(state_)) return;
  StackPlan plan = stack_plan();
  if (!url_.starts_with("ipc://")) plan.broker_url = url_;  // the URL of kq up, to which the client reconnects
  auto stack = Stack::start(plan, [&](std::int64_t ms) { return sleep(ms); });
  if (!stack && holder_of(state_)) return;  // another process was faster
  if (stack && (*stack)->broker_url() != url_)
    stack = our_fault("the broker " + url_ + ", which this run shared, has ended; the same command continues the run");
  if (!stack) {
    stack_error_ = stack.error();
    return;
  }
  stack_ = std::move(*stack);
  say("the process whose broker this run shared has ended; started a broker in " + stack_->folder().path());
  resume_submitters(url_, stack_->left_paused());
  stack_->record_paused({});
  start_worker();
}

// Gives the run a submitter of its own where the queue is not empty, because a worker takes the jobs of all submitters
// in turn. At an own broker the run gets a higher priority too.
void Evaluation::put_first(producer::Client& client, producer::Prepared& prepared) {
  const auto broker = client.ask_for<BrokerReply>(BrokerQuery{});
  if (!broker || broker->queued + broker->leased == 0) return;
  for (producer::PackedJob& job : prepared.jobs) {
    if (stack_ && job.submission.priority == Priority::normal) job.submission.priority = Priority::high;
  }
  const std::string own = own_share_name(prepared.submitter, prepared.run);
  if (prepared.submitter == producer::default_submitter() && !name_error(own)) prepared.submitter = own;
}

// Names the unfinished jobs of other runs. Pauses their submitters at an own broker, except a submitter of a job that
// this run needs too.
Expected<void> Evaluation::hold_others(producer::Client& client, const producer::SubmitSummary& submitted) {
  std::set<Sequence> own;
  for (const producer::SubmittedJob& job : submitted.jobs) own.insert(job.ack.seq);
  std::map<std::string, std::size_t> counts;
  std::set<std::string> others, needed;
  for (const JobState state : {JobState::leased, JobState::queued}) {
    KQ_TRY(each_page(client, JobsQuery{.state = state}, [&](const JobsReply& page) {
      for (const JobRow& row : page.jobs) {
        const bool is_own = own.contains(row.job.seq);
        (is_own ? needed : others).insert(row.job.submitter);
        if (!is_own) ++counts[row.job.run];
      }
      return Expected<void>();
    }));
  }
  if (counts.empty()) return {};
  const auto most =
      std::max_element(counts.begin(), counts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  say("state folder " + state_ + " holds " + producer::counted(most->second, "unfinished job") + " of run " +
      most->first + (counts.size() > 1 ? " and of " + producer::counted(counts.size() - 1, "other run") : "") +
      (stack_ ? "; this run goes first" : "; the runs take turns") + "; kq ctl cancel --run " +
      producer::shell_quoted(most->first) + " --broker " + producer::shell_quoted(url_) + " ends them");
  if (!stack_) return {};
  for (const std::string& submitter : others) {
    if (needed.contains(submitter) || submitter.empty()) continue;
    paused_.push_back(submitter);
  }
  stack_->record_paused(paused_);
  for (const std::string& submitter : paused_) KQ_TRY(ask<Done>(client, Pause{submitter, true}));
  return {};
}

void Evaluation::resume_others() {
  if (paused_.empty() || !stack_) return;
  resume_submitters(url_, paused_);
  stack_->record_paused({});
}

// Returns whether programs that read go to the state folder of this run without an option: its store, or the broker of
// another process that runs there. A running kq up, KQ_BROKER and KQ_STORE send them elsewhere.
bool Evaluation::is_found_without_option() const {
  const Place place = default_place({.environment = process_environment, .is_listening = is_listening});
  if (!place.broker.empty()) return !has_own_stack_ && place.broker == url_;
  std::error_code ignored;
  return std::filesystem::equivalent(store_in(place.store), store_in(state_), ignored);
}

std::string Evaluation::place_options() const {
  if (state_.empty()) return " --broker " + producer::shell_quoted(url_);
  return is_found_without_option() ? "" : " --store " + producer::shell_quoted(state_);
}

// Returns the command that waits for the jobs of a forced rerun. The same command without --force-rerun would take the
// results of earlier jobs, and with it new jobs.
std::string Evaluation::command_for_forced_jobs(const std::string& run) const {
  const std::string wait = "kq results " + producer::shell_quoted(run) + " --wait";
  const bool is_found = !state_.empty() && is_found_without_option();
  if (!has_own_stack_) return wait + (is_found ? "" : " --broker " + producer::shell_quoted(url_));
  const auto usual = default_state_folder(process_environment);
  const std::string up = "kq up -d" + (usual && *usual == state_ ? "" : " --state " + producer::shell_quoted(state_));
  if (is_found) return up + " && " + wait;
  // Another broker may have the default URL.
  const std::string url = producer::shell_quoted("ipc://" + std::filesystem::absolute(state_).string() + "/up");
  return up + " --broker-url " + url + " && " + wait + " --broker " + url;
}

std::string Evaluation::next_commands(const std::string& run, const std::vector<std::string>& words) const {
  std::string again = plan_.program;
  std::replace(again.begin(), again.end(), '-', ' ');
  for (const std::string& word : words) {
    if (word == "--force-rerun") continue;  // nothing was submitted, or another command goes on
    const std::size_t dashes = std::min(word.find_first_not_of('-'), word.size());
    again += " " + word.substr(0, dashes);
    if (dashes < word.size() || word.empty()) again += producer::shell_quoted(word.substr(dashes));
  }
  if (has_submitted_ && std::ranges::find(words, "--force-rerun") != words.end()) again = command_for_forced_jobs(run);
  // A shell may have expanded a pattern to thousands of words.
  if (again.size() > kCommandBytesMax) again = "the same command";
  if (!has_submitted_) return "to go on: " + again;
  const std::string where = state_.empty()              ? " --broker " + producer::shell_quoted(url_)
                            : is_found_without_option() ? ""
                                                        : " --state " + producer::shell_quoted(state_);
  return (has_own_stack_ ? "to go on: " : "unfinished jobs go on with the broker; to wait for them: ") + again +
         (has_own_stack_ ? "; to cancel the rest" : "; to cancel them") + ": kq ctl cancel --run " +
         producer::shell_quoted(run) + where;
}

// Prints news, unless the plan is quiet.
void Evaluation::say(const std::string& sentence) {
  if (!plan_.is_quiet) tell(sentence);
}

// Prints a sentence on a line of its own.
void Evaluation::tell(const std::string& sentence) {
  if (line_ != nullptr) line_->end();
  std::cerr << plan_.program << ": " << printable(sentence) << '\n';
}

// Starts the worker of our own stack, if there is one. Called only when a job is left to do: a batch whose results are
// all reused needs no worker.
void Evaluation::start_worker() {
  if (!stack_ || stack_error_) return;
  if (const auto started = stack_->start_worker([&](std::int64_t ms) { return sleep(ms); }); !started)
    stack_error_ = started.error();
}

// Reads the rows after a stop signal, over a connection of its own, because the client gives up after a signal. A
// second signal ends that.
void Evaluation::gather_after_signal(const producer::SubmitSummary& submitted, const Gather& gather) {
  if (!signal_ || stack_error_) return;
  auto client = producer::Client::connect(url_, key_of_broker());
  if (!client) return;
  const std::int64_t end_ms = sys::monotonic_now_ms() + kGatherAfterSignalMs;
  client->stop_when([&] { return signals_.take(0).has_value() || sys::monotonic_now_ms() >= end_ms; });
  (void)gather(*client, submitted);
}

// Restarts a program of the stack that has ended, and takes stop signals. Returns whether waiting should end.
bool Evaluation::interrupted() {
  if (stack_ && !stack_error_) {
    const Expected<std::optional<std::string>> note = stack_->restart_ended();
    if (!note) stack_error_ = note.error();
    if (note && *note) tell(**note);
  }
  if (!state_.empty() && !stack_ && !stack_error_ && !url_.empty()) take_over();
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
  StallWatch stall;
  std::optional<producer::Client> asker;  // a connection of its own, because `client` waits for answers meanwhile
  options.progress = [&](const producer::Tally& tally) {
    if (tally.finished < tally.total) start_worker();
    const std::int64_t now_ms = sys::monotonic_now_ms();
    if (stall.is_due(tally, now_ms)) {
      if (!asker) {
        if (auto connected = producer::Client::connect(url_, key_of_broker())) asker.emplace(std::move(*connected));
      }
      const auto why = asker ? why_first_waits(*asker, submitted, sys::unix_now_ms()) : std::nullopt;
      if (why && stall.is_news(*why)) say(*why);
    }
    producer::Tally shown = tally;
    if (stack_ && now_ms - start_ms < kWorkerStartMs) shown.unserved.clear();  // our worker is starting
    if (!plan_.is_quiet) line.update(shown, now_ms);
  };
  Expected<producer::WaitOutcome> outcome = producer::wait_for(client, submitted.to_wait_for(), options);
  line_ = nullptr;
  return outcome;
}

}  // namespace kq::tools
