#include "tools/ctl/job_verbs.h"

#include <algorithm>
#include <map>
#include <ostream>
#include <type_traits>

#include "core/base/own_share.h"
#include "core/limits.h"
#include "producer/client/sentences.h"
#include "tools/ctl/broker_requests.h"
#include "tools/ctl/listing.h"
#include "tools/ctl/run_jobs.h"
#include "tools/ctl/world.h"

namespace kq::tools {
namespace {

// Sends one kind of request for many jobs, at most kQuerySeqsMax of them in a message, and counts the answers.
template <class Request>
class JobActions {
 public:
  JobActions(const CtlWorld& world, producer::Client& client, bool json)
      : world_(world), client_(client), json_(json), listing_(world.out, json, "jobs", {}) {}

  // Cancels jobs for one submitter; those that others submitted too go on for them.
  Expected<void> act_for(const std::string& submitter, std::span<const Sequence> seqs) {
    named_ = submitter;
    KQ_TRY(act(seqs));
    named_.clear();
    return {};
  }

  Expected<void> act(std::span<const Sequence> seqs) {
    for (; !seqs.empty(); seqs = seqs.subspan(std::min(kQuerySeqsMax, seqs.size()))) {
      const auto chunk = seqs.first(std::min(kQuerySeqsMax, seqs.size()));
      Request request{{chunk.begin(), chunk.end()}};
      if constexpr (std::is_same_v<Request, CancelJobs>) request.submitter = named_;
      const auto reply = ask<ActionReply>(client_, request);
      if (!reply) return failure(reply.error());
      for (const JobAction& action : reply->jobs) note(action);
      KQ_TRY(count_unknown(reply->jobs));
    }
    return {};
  }

  // Counts a job as refused without asking the broker.
  void refuse(Sequence seq, const std::string& reason) { note(JobAction{.seq = seq, .done = false, .reason = reason}); }

  // Prints the counts. Returns nothing when there were no jobs or none that the broker knows, bad_input when a job was
  // refused, ok otherwise.
  Expected<ExitCode> finish(const std::string& done_word) {
    listing_.finish({{"done", json_number(done_count_)}, {"refused", json_number(refused_count_)}});
    if (!json_) {
      for (const std::string& sentence : first_refusals_) world_.err << printable(sentence) << '\n';
      if (refused_count_ > first_refusals_.size())
        world_.err << "and " << refused_count_ - first_refusals_.size() << " more\n";
      world_.out << done_word << " " << producer::counted(done_count_ - unchanged_count_ - going_on_count_, "job")
                 << (going_on_count_ > 0 ? ", left " + std::to_string(going_on_count_) + " to other submitters" : "")
                 << (unchanged_count_ > 0 ? ", " + std::to_string(unchanged_count_) + " unchanged" : "")
                 << (refused_count_ > 0 ? ", " + std::to_string(refused_count_) + " refused" : "") << '\n';
    }
    if (refused_count_ > unknown_count_ || (refused_count_ > 0 && done_count_ > 0)) return ExitCode::bad_input;
    return done_count_ > 0 ? ExitCode::ok : ExitCode::nothing;
  }

 private:
  // Counts those refused jobs that the broker does not know.
  Expected<void> count_unknown(const std::vector<JobAction>& jobs) {
    StatusQuery query;
    for (const JobAction& job : jobs) {
      if (!job.done) query.seqs.push_back(job.seq);
    }
    if (query.seqs.empty()) return {};
    KQ_TRY_VALUE(const auto known, ask<StatusReply>(client_, query));
    unknown_count_ += query.seqs.size() - std::min(known.jobs.size(), query.seqs.size());
    return {};
  }

  void note(const JobAction& action) {
    ++(action.done ? done_count_ : refused_count_);
    const bool goes_on = std::is_same_v<Request, CancelJobs> && action.done && action.state != JobState::finished;
    if (goes_on) {
      ++going_on_count_;
    } else if (action.done && !action.reason.empty()) {
      ++unchanged_count_;
    }
    if (!action.done && first_refusals_.size() < producer::kSentencesShown) first_refusals_.push_back(action.reason);
    if (!json_) return;
    listing_.add({}, {{"id", json_number(action.seq)},
                      {"done", producer::Json{action.done}},
                      {"state", json_text(to_string(action.state))},
                      {"reason", action.reason.empty() ? producer::Json{nullptr} : json_text(action.reason)}});
  }

  const CtlWorld& world_;
  producer::Client& client_;
  bool json_;
  std::string named_;  // the submitter for whom jobs are cancelled; empty: for all for whom the caller may
  Listing listing_;
  std::uint64_t done_count_ = 0;
  std::uint64_t unchanged_count_ = 0;  // of done_count_: jobs that were in the wanted state before
  std::uint64_t going_on_count_ = 0;   // of done_count_: jobs that go on for other submitters
  std::uint64_t refused_count_ = 0;
  std::uint64_t unknown_count_ = 0;  // of refused_count_: jobs that the broker does not know
  std::vector<std::string> first_refusals_;
};

// Which jobs the command line names. Exactly one of the members may be set.
struct JobSelection {
  std::vector<std::string> words;
  std::string run;
  std::string submitter;
  bool all = false;

  int choice_count() const {
    return static_cast<int>(!words.empty()) + static_cast<int>(!run.empty()) + static_cast<int>(!submitter.empty()) +
           static_cast<int>(all);
  }
};

// Cancels the unfinished jobs of a run, also those whose rows other jobs have taken, each for the submitters of the run
// only, so that the same work in runs of others goes on.
Expected<void> cancel_run(producer::Client& client, const std::string& run, JobActions<CancelJobs>& actions) {
  using SeqsBySubmitter = std::map<std::string, std::vector<Sequence>>;
  const auto act = [&](const SeqsBySubmitter& seqs) -> Expected<void> {
    for (const auto& [submitter, some] : seqs) KQ_TRY(actions.act_for(submitter, some));
    return {};
  };
  RunJobs jobs(run);
  KQ_TRY(jobs.each_row(client, [&](const std::vector<RunRow>& rows) {
    SeqsBySubmitter seqs;
    for (const RunRow& row : rows) seqs[row.entry.submitter].push_back(row.job.seq);
    return act(seqs);
  }));
  return jobs.each_former(client, [&](const std::vector<RunJobs::Former>& former) {
    SeqsBySubmitter seqs;
    for (const RunJobs::Former& one : former) {
      for (const std::string& submitter : one.submitters) seqs[submitter].push_back(one.job.seq);
    }
    return act(seqs);
  });
}

// Cancels those jobs of a page that are of this submitter, and leaves them to others who submitted them too.
Expected<void> cancel_of(const JobsReply& page, const std::string& submitter, JobActions<CancelJobs>& actions) {
  std::map<std::string, std::vector<Sequence>> seqs;  // by the submitter's names at the queue
  for (const JobRow& row : page.jobs) {
    if (is_submitter(submitter, row.job.submitter, row.job.run)) seqs[row.job.submitter].push_back(row.job.seq);
  }
  for (const auto& [name, some] : seqs) KQ_TRY(actions.act_for(name, some));
  return {};
}

std::vector<Sequence> seqs_of(const JobsReply& page) {
  std::vector<Sequence> seqs;
  for (const JobRow& row : page.jobs) seqs.push_back(row.job.seq);
  return seqs;
}

// Returns whether a job is a dead letter. Asks the broker for one entry of the list of dead letters.
Expected<bool> is_dead_letter(producer::Client& client, Sequence seq) {
  if (seq == 0) return false;
  KQ_TRY_VALUE(const auto page, ask<JobsReply>(client, DeadQuery{.after_seq = seq - 1, .limit = 1}));
  return !page.jobs.empty() && page.jobs.front().job.seq == seq;
}

// Queues those of `seqs` again that are dead letters, and refuses the others. The check is necessary because the broker
// would queue any job again whose verdict is not terminal, a cancelled one too.
Expected<void> act_on_dead(producer::Client& client, JobActions<RetryJobs>& actions,
                           const std::vector<Sequence>& seqs) {
  std::vector<Sequence> dead;
  for (const Sequence seq : seqs) {
    KQ_TRY_VALUE(const auto is_dead, is_dead_letter(client, seq));
    if (is_dead) {
      dead.push_back(seq);
    } else {
      actions.refuse(seq, "job " + std::to_string(seq) + " is not a dead letter; kq-ctl retry queues other jobs again");
    }
  }
  return actions.act(dead);
}

Expected<void> act_on_dead(producer::Client&, JobActions<PurgeDead>& actions, const std::vector<Sequence>& seqs) {
  return actions.act(seqs);
}

// Runs a verb that acts on the dead letters with the given numbers, or on all of them.
template <class Request>
Expected<ExitCode> act_on_dead_letters(int argc, const char* const* argv, const CtlWorld& world,
                                       const std::string& about, const std::string& done_word) {
  BrokerFlags broker;
  JobSelection choice;
  Flags flags(argv[0], about + " The exit code is 5 when there is no dead letter, 2 when a job is refused.");
  flags.flag("--all", "act on every dead letter", choice.all);
  flags.arguments("JOB", "numbers of jobs, as kq-ctl dead-letters prints them", choice.words);
  add_flags_with_state(flags, broker);
  if (const auto code = flags.parse(argc, argv)) return *code;
  if (choice.choice_count() != 1) return bad_input("give either job numbers or --all");
  KQ_TRY_VALUE(const auto seqs, parse_seqs(choice.words));
  KQ_TRY_VALUE(auto client, connect_or_start(world, broker));
  JobActions<Request> actions(world, client, broker.json);
  KQ_TRY(choice.all ? each_page(client, DeadQuery{}, [&](const JobsReply& page) { return actions.act(seqs_of(page)); })
                    : act_on_dead(client, actions, seqs));
  return actions.finish(done_word);
}

}  // namespace

Expected<ExitCode> ctl_cancel(int argc, const char* const* argv, const CtlWorld& world) {
  BrokerFlags broker;
  JobSelection choice;
  Flags flags(
      argv[0],
      "Ends queued and running jobs with the verdict cancelled; a worker stops a running job at once. A job "
      "that others submitted too goes on for them. Jobs that a kq sweep left are cancelled without a broker, too: "
      "one is started in the state folder for this command. The exit code is 5 when there is no job to cancel "
      "or none is known, 2 when a job is refused.");
  flags.option("--run", "NAME", "cancel the unfinished jobs of this run, also those whose rows have other jobs now",
               choice.run);
  flags.option("--submitter", "NAME", "cancel the unfinished jobs of this submitter, also those of sweeps",
               choice.submitter);
  flags.arguments("JOB", "numbers of jobs, as kq submit prints them", choice.words);
  add_flags_with_state(flags, broker);
  if (const auto code = flags.parse(argc, argv)) return *code;
  if (choice.choice_count() != 1) return bad_input("give either job numbers, --run NAME or --submitter NAME");
  KQ_TRY_VALUE(const auto seqs, parse_seqs(choice.words));
  KQ_TRY_VALUE(auto client, connect_or_start(world, broker));

  JobActions<CancelJobs> actions(world, client, broker.json);
  if (!choice.run.empty()) {
    KQ_TRY(cancel_run(client, choice.run, actions));
  } else if (!choice.submitter.empty()) {
    // Queued jobs are cancelled first. Otherwise each cancelled running job would let a worker start the next one.
    for (const JobState state : {JobState::queued, JobState::leased}) {
      KQ_TRY(each_page(client, JobsQuery{.state = state},
                       [&](const JobsReply& page) { return cancel_of(page, choice.submitter, actions); }));
    }
  } else {
    KQ_TRY(actions.act(seqs));
  }
  return actions.finish("cancelled");
}

Expected<ExitCode> ctl_retry(int argc, const char* const* argv, const CtlWorld& world) {
  BrokerFlags broker;
  JobSelection choice;
  Flags flags(
      argv[0],
      "Queues finished jobs again whose verdict is not terminal, such as abandoned, cancelled, expired and "
      "unsupported_here. A job with a terminal verdict is refused; the exit code is then 2. It is 5 when no job "
      "is known.");
  flags.option("--run", "NAME", "queue the finished jobs of this run again whose verdict is not terminal", choice.run);
  flags.arguments("JOB", "numbers of jobs, as kq submit prints them", choice.words);
  add_flags_with_state(flags, broker);
  if (const auto code = flags.parse(argc, argv)) return *code;
  if (choice.choice_count() != 1) return bad_input("give either job numbers or --run NAME");
  KQ_TRY_VALUE(const auto seqs, parse_seqs(choice.words));
  KQ_TRY_VALUE(auto client, connect_or_start(world, broker));

  JobActions<RetryJobs> actions(world, client, broker.json);
  const auto acted =
      choice.run.empty() ? actions.act(seqs) : each_run_page(client, choice.run, [&](const std::vector<RunRow>& rows) {
        std::vector<Sequence> again;
        for (const RunRow& row : rows) {
          if (row.result && !row_of(name_of(row.result->verdict)).terminal) again.push_back(row.job.seq);
        }
        return actions.act(again);
      });
  if (!acted) return failure(acted.error());
  return actions.finish("queued again");
}

Expected<ExitCode> ctl_requeue(int argc, const char* const* argv, const CtlWorld& world) {
  return act_on_dead_letters<RetryJobs>(
      argc, argv, world, "Queues dead letters again and resets their count of failures.", "queued again");
}

Expected<ExitCode> ctl_purge(int argc, const char* const* argv, const CtlWorld& world) {
  return act_on_dead_letters<PurgeDead>(argc, argv, world,
                                        "Removes dead letters from the list. The jobs keep their verdicts.", "removed");
}

}  // namespace kq::tools
