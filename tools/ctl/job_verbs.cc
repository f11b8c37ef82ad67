#include "tools/ctl/job_verbs.h"

#include <algorithm>
#include <ostream>

#include "core/limits.h"
#include "producer/client/sentences.h"
#include "tools/ctl/broker_requests.h"
#include "tools/ctl/listing.h"

namespace kq::tools {
namespace {

// Asks for one thing to be done to many jobs, a message's worth at a time, and keeps what came of it.
template <class Request>
class Doer {
 public:
  Doer(const CtlWorld& world, producer::Client& client, bool json)
      : world_(world), client_(client), json_(json), listing_(world.out, json, "jobs", {}) {}

  Expected<void> act(std::span<const Sequence> seqs) {
    for (; !seqs.empty(); seqs = seqs.subspan(std::min(kQuerySeqsMax, seqs.size()))) {
      const auto chunk = seqs.first(std::min(kQuerySeqsMax, seqs.size()));
      const auto reply = ask<ActionReply>(client_, Request{{chunk.begin(), chunk.end()}});
      if (!reply) return failure(reply.error());
      for (const JobAction& action : reply->jobs) note(action);
    }
    return {};
  }

  // Not asked for: what these would have to be, they are not.
  void refuse(Sequence seq, const std::string& reason) { note(JobAction{.seq = seq, .done = false, .reason = reason}); }

  // Nothing done: 5 when there was nothing to do it to. Something refused: 2.
  Expected<ExitCode> finish(const std::string& done_word) {
    listing_.finish({{"done", json_number(done_n_)}, {"refused", json_number(refused_n_)}});
    if (!json_) {
      for (const std::string& sentence : first_refusals_) world_.err << printable(sentence) << '\n';
      if (refused_n_ > first_refusals_.size()) world_.err << "and " << refused_n_ - first_refusals_.size() << " more\n";
      world_.out << done_word << " " << producer::counted(done_n_ - already_n_, "job")
                 << (already_n_ > 0 ? ", " + std::to_string(already_n_) + " had no need" : "")
                 << (refused_n_ > 0 ? ", not " + std::to_string(refused_n_) : "") << '\n';
    }
    if (refused_n_ > 0) return ExitCode::bad_input;
    return done_n_ > 0 ? ExitCode::ok : ExitCode::nothing;
  }

 private:
  void note(const JobAction& action) {
    ++(action.done ? done_n_ : refused_n_);
    if (action.done && !action.reason.empty()) ++already_n_;
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
  Listing listing_;
  std::uint64_t done_n_ = 0;
  std::uint64_t already_n_ = 0;  // of these: it was so before
  std::uint64_t refused_n_ = 0;
  std::vector<std::string> first_refusals_;
};

// Which jobs; exactly one of these is named.
struct Choice {
  std::vector<std::string> words;
  std::string run;
  std::string submitter;
  bool all = false;

  int named_n() const {
    return static_cast<int>(!words.empty()) + static_cast<int>(!run.empty()) + static_cast<int>(!submitter.empty()) +
           static_cast<int>(all);
  }
};

template <class Act>
Expected<void> each_unfinished_of_run(producer::Client& client, const std::string& run, Act act) {
  return each_run_page(client, run, [&](const std::vector<RunRow>& rows) {
    std::vector<Sequence> seqs;
    for (const RunRow& row : rows) {
      if (row.job.state != JobState::finished) seqs.push_back(row.job.seq);
    }
    return act(seqs);
  });
}

std::vector<Sequence> seqs_of(const JobsReply& page, const std::string& submitter) {
  std::vector<Sequence> seqs;
  for (const JobRow& row : page.jobs) {
    if (submitter.empty() || row.job.submitter == submitter) seqs.push_back(row.job.seq);
  }
  return seqs;
}

// Whether these are dead letters, one by one: only so much of the list is asked for.
Expected<bool> is_dead(producer::Client& client, Sequence seq) {
  if (seq == 0) return false;
  KQ_TRY_VALUE(const auto page, ask<JobsReply>(client, DeadQuery{.after_seq = seq - 1, .limit = 1}));
  return !page.jobs.empty() && page.jobs.front().job.seq == seq;
}

// By number: the broker would queue any job again that did not settle, one that somebody cancelled too.
Expected<void> act_on_dead(producer::Client& client, Doer<RetryJobs>& doer, const std::vector<Sequence>& seqs) {
  std::vector<Sequence> dead;
  for (const Sequence seq : seqs) {
    KQ_TRY_VALUE(const auto is, is_dead(client, seq));
    if (is) {
      dead.push_back(seq);
    } else {
      doer.refuse(seq, "job " + std::to_string(seq) + " is no dead letter; kq-ctl retry queues others again");
    }
  }
  return doer.act(dead);
}

Expected<void> act_on_dead(producer::Client&, Doer<PurgeDead>& doer, const std::vector<Sequence>& seqs) {
  return doer.act(seqs);
}

// A verb on dead letters: of these numbers, or of all.
template <class Request>
Expected<ExitCode> deal_with_dead(int argc, const char* const* argv, const CtlWorld& world, const std::string& about,
                                  const std::string& done_word) {
  BrokerFlags broker;
  Choice choice;
  Flags flags(argv[0], about + " Exit code 5 when there is none, 2 when something could not be done.");
  flags.flag("--all", "every dead letter", choice.all);
  flags.arguments("JOB", "numbers of jobs, as kq-ctl dead-letters prints them", choice.words);
  add_flags(flags, broker);
  if (const auto code = flags.parse(argc, argv)) return *code;
  if (choice.named_n() != 1) return bad_input("which? name jobs by number, or say --all");
  KQ_TRY_VALUE(const auto seqs, parse_seqs(choice.words));
  KQ_TRY_VALUE(auto client, connect(world, broker));
  Doer<Request> doer(world, client, broker.json);
  KQ_TRY(choice.all ? each_page(client, DeadQuery{}, [&](const JobsReply& page) { return doer.act(seqs_of(page, "")); })
                    : act_on_dead(client, doer, seqs));
  return doer.finish(done_word);
}

}  // namespace

Expected<ExitCode> ctl_cancel(int argc, const char* const* argv, const CtlWorld& world) {
  BrokerFlags broker;
  Choice choice;
  Flags flags(argv[0],
              "Ends jobs as cancelled, whether they wait or run; a worker drops what it is doing at once. Exit code 5 "
              "when there is nothing to "
              "cancel, 2 when something could not be.");
  flags.option("--run", "NAME", "the unfinished jobs of this run", choice.run);
  flags.option("--submitter", "NAME", "the unfinished jobs of this submitter", choice.submitter);
  flags.arguments("JOB", "numbers of jobs, as kq submit prints them", choice.words);
  add_flags(flags, broker);
  if (const auto code = flags.parse(argc, argv)) return *code;
  if (choice.named_n() != 1) return bad_input("which? name jobs by number, or say --run NAME or --submitter NAME");
  KQ_TRY_VALUE(const auto seqs, parse_seqs(choice.words));
  KQ_TRY_VALUE(auto client, connect(world, broker));

  Doer<CancelJobs> doer(world, client, broker.json);
  const auto act = [&](const std::vector<Sequence>& some) { return doer.act(some); };
  Expected<void> acted;
  if (!choice.run.empty()) {
    acted = each_unfinished_of_run(client, choice.run, act);
  } else if (!choice.submitter.empty()) {
    // The waiting ones first: else each one cancelled on a worker would only make room for the next.
    for (const JobState state : {JobState::queued, JobState::leased}) {
      if (acted)
        acted = each_page(client, JobsQuery{.state = state},
                          [&](const JobsReply& page) { return act(seqs_of(page, choice.submitter)); });
    }
  } else {
    acted = doer.act(seqs);
  }
  if (!acted) return failure(acted.error());
  return doer.finish("cancelled");
}

Expected<ExitCode> ctl_retry(int argc, const char* const* argv, const CtlWorld& world) {
  BrokerFlags broker;
  Choice choice;
  Flags flags(argv[0],
              "Queues jobs again whose verdict says nothing lasting: abandoned, cancelled, expired, unsupported_here "
              "and the like. What has a "
              "lasting verdict is left alone, and told: exit code 2.");
  flags.option("--run", "NAME", "the finished jobs of this run that did not get a lasting verdict", choice.run);
  flags.arguments("JOB", "numbers of jobs, as kq submit prints them", choice.words);
  add_flags(flags, broker);
  if (const auto code = flags.parse(argc, argv)) return *code;
  if (choice.named_n() != 1) return bad_input("which? name jobs by number, or say --run NAME");
  KQ_TRY_VALUE(const auto seqs, parse_seqs(choice.words));
  KQ_TRY_VALUE(auto client, connect(world, broker));

  Doer<RetryJobs> doer(world, client, broker.json);
  const auto acted =
      choice.run.empty() ? doer.act(seqs) : each_run_page(client, choice.run, [&](const std::vector<RunRow>& rows) {
        std::vector<Sequence> again;
        for (const RunRow& row : rows) {
          if (row.result && !row_of(name_of(row.result->verdict)).settles) again.push_back(row.job.seq);
        }
        return doer.act(again);
      });
  if (!acted) return failure(acted.error());
  return doer.finish("queued again");
}

Expected<ExitCode> ctl_requeue(int argc, const char* const* argv, const CtlWorld& world) {
  return deal_with_dead<RetryJobs>(argc, argv, world, "Queues dead letters again, with their failures forgotten.",
                                   "queued again");
}

Expected<ExitCode> ctl_purge(int argc, const char* const* argv, const CtlWorld& world) {
  return deal_with_dead<PurgeDead>(argc, argv, world, "Strikes dead letters off the list. The jobs stay as they ended.",
                                   "struck off");
}

}  // namespace kq::tools
