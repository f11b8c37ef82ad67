#include "tools/ctl/listing_verbs.h"

#include <map>
#include <memory>
#include <optional>

#include "core/base/own_share.h"
#include "producer/client/row_text.h"
#include "store/reader.h"
#include "tools/ctl/broker_requests.h"
#include "tools/ctl/listing.h"
#include "tools/ctl/world.h"

namespace kq::tools {
namespace {

producer::JsonObject job_object(const JobRow& row) {
  const JobRecord& job = row.job;
  return {{"id", json_number(job.seq)},
          {"state", json_text(to_string(job.state))},
          {"priority", json_text(to_string(job.priority))},
          {"submitter", json_text(job.submitter)},
          {"run", json_text(job.run)},
          {"label", json_text(row.label)},
          {"author", json_text(row.author)},
          {"worker", json_text(row.worker)},
          {"build_started_ms", json_time(row.build_started_ms)},
          {"attempt", json_number(job.attempt)},
          {"failures", json_number(job.failures)},
          {"submitted_at_ms", json_time(job.submitted_at_ms)},
          {"leased_at_ms", json_time(job.leased_at_ms)},
          {"finished_at_ms", json_time(job.finished_at_ms)},
          {"not_before_ms", json_time(job.not_before_ms)},
          {"deadline_ms", json_time(job.deadline_ms)},
          {"last_error", json_text(job.last_error)}};
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

// Returns the Unix time in milliseconds at which the job entered its state.
std::int64_t since_ms(const JobRecord& job) {
  switch (job.state) {
    case JobState::queued:
      return job.submitted_at_ms;
    case JobState::leased:
      return job.leased_at_ms;
    case JobState::finished:
      return job.finished_at_ms;
  }
  return 0;
}

// Returns how long the job has been in its state, and that its worker builds it.
std::string duration_text(const JobRow& row, std::int64_t now_ms) {
  return (row.build_started_ms != 0 ? "building, " : "") + age_text(now_ms - since_ms(row.job));
}

// Asks for the verdicts of finished jobs. A job that is removed meanwhile has none.
Expected<std::map<Sequence, std::string>> verdicts_of(producer::Client& client, const std::vector<JobRow>& jobs) {
  std::map<Sequence, std::string> verdicts;
  StatusQuery query;
  for (const JobRow& row : jobs) query.seqs.push_back(row.job.seq);
  if (jobs.empty()) return verdicts;
  KQ_TRY_VALUE(const auto reply, ask<StatusReply>(client, query));
  for (const JobStatus& job : reply.jobs) verdicts.emplace(job.seq, job.verdict);
  return verdicts;
}

// Prints the rest of the list and returns the exit code. Text without rows says so on standard error; JSON is then an
// empty list.
Expected<ExitCode> end_of(Listing& listing, const BrokerFlags& flags, const std::string& nothing) {
  listing.finish();
  if (listing.row_count() > 0) return ExitCode::ok;
  if (flags.json) return ExitCode::nothing;
  return failure(Error{ErrorKind::not_found, nothing});
}

}  // namespace

Expected<ExitCode> ctl_jobs(int argc, const char* const* argv, const CtlWorld& world) {
  BrokerFlags broker;
  std::string state = "queued";
  std::string submitter;
  Flags flags(argv[0], "Lists the jobs in one state, ordered by number. The exit code is 5 when there is none.");
  flags.choice("--state", "state of the listed jobs; leased is another word for running (default: queued)", state,
               {"queued", "running", "leased", "finished"});
  flags.option("--submitter", "NAME", "list only the jobs of this submitter", submitter);
  add_flags_with_state(flags, broker, "--store");
  if (const auto code = flags.parse(argc, argv)) return *code;
  KQ_TRY_VALUE(auto client, connect_or_start(world, broker));

  const JobsQuery query{.state = state == "running" ? JobState::leased : *parse_enum<JobState>(state)};
  const bool is_finished = query.state == JobState::finished;
  const std::string word = producer::state_text(query.state);
  std::vector<TableColumn> columns{{"job", true}, {"priority"},      {"submitter"}, {"run"},
                                   {"label"},     {"attempt", true}, {"worker"},    {word, true}};
  if (is_finished) columns.insert(columns.end() - 1, {"verdict"});
  Listing listing(world.out, broker.json, "jobs", std::move(columns));
  KQ_TRY(each_page(client, query, [&](const JobsReply& page) -> Expected<void> {
    std::map<Sequence, std::string> verdicts;
    if (is_finished) {
      KQ_TRY_VALUE(verdicts, verdicts_of(client, page.jobs));
    }
    for (const JobRow& row : page.jobs) {
      const JobRecord& job = row.job;
      if (!submitter.empty() && !is_submitter(submitter, job.submitter, job.run)) continue;
      std::vector<std::string> cells{std::to_string(job.seq),
                                     std::string(to_string(job.priority)),
                                     or_dash(job.submitter),
                                     or_dash(job.run),
                                     row.label,
                                     std::to_string(job.attempt),
                                     or_dash(row.worker),
                                     duration_text(row, world.unix_now_ms())};
      producer::JsonObject object = job_object(row);
      if (is_finished) {
        cells.insert(cells.end() - 1, or_dash(verdicts[job.seq]));
        object.emplace_back("verdict", json_text(verdicts[job.seq]));
      }
      listing.add(std::move(cells), std::move(object));
    }
    return Expected<void>();
  }));
  return end_of(listing, broker, "there is no " + word + " job" + (submitter.empty() ? "" : " of " + submitter));
}

Expected<ExitCode> ctl_dead_letters(int argc, const char* const* argv, const CtlWorld& world) {
  BrokerFlags broker;
  Flags flags(argv[0],
              "Lists the dead letters: jobs that ended as abandoned because of failures of kq. kq-ctl requeue queues "
              "them again, kq-ctl purge removes them from the list. The exit code is 5 when there is none.");
  add_flags_with_state(flags, broker);
  if (const auto code = flags.parse(argc, argv)) return *code;
  KQ_TRY_VALUE(auto client, connect_or_start(world, broker));
  Listing listing(
      world.out, broker.json, "jobs",
      {{"job", true}, {"submitter"}, {"run"}, {"label"}, {"attempt", true}, {"dead for", true}, {"last failure"}});
  KQ_TRY(each_page(client, DeadQuery{}, [&](const JobsReply& page) {
    for (const JobRow& row : page.jobs) {
      const JobRecord& job = row.job;
      listing.add(
          {std::to_string(job.seq), or_dash(job.submitter), or_dash(job.run), row.label, std::to_string(job.attempt),
           age_text(world.unix_now_ms() - job.finished_at_ms), or_dash(job.last_error)},
          job_object(row));
    }
    return Expected<void>();
  }));
  return end_of(listing, broker, "there are no dead letters");
}

Expected<ExitCode> ctl_runs(int argc, const char* const* argv, const CtlWorld& world) {
  BrokerFlags broker;
  std::string store_folder;
  Flags flags(argv[0],
              "Lists the runs that the broker knows, ordered by name, with the submitter and the time of one job of "
              "each. Where no broker runs, it reads the store of the last kq sweep. The exit code is 5 when there is "
              "none.");
  flags.option("--store,--state", "DIR",
               "read this store instead, or that of a state folder; its broker may be stopped (default: $KQ_STORE, or "
               "that of the last kq sweep where no broker runs)",
               store_folder);
  add_flags(flags, broker);
  if (const auto code = flags.parse(argc, argv)) return *code;
  std::unique_ptr<store::Store> store;
  if (!store_folder.empty() || broker.broker.empty()) {
    KQ_TRY_VALUE(store, world.open_store(store_folder));
  }
  std::optional<producer::Client> client;
  if (store == nullptr) {
    KQ_TRY_VALUE(client, connect(world, broker));
  }
  Listing listing(world.out, broker.json, "runs", {{"run"}, {"submitter"}, {"submitted", true}});
  RunsQuery query{.after = {}, .limit = kQueryRowsMax};
  for (bool more = true; more;) {
    KQ_TRY_VALUE(const auto page, store ? store::read_runs(*store, query) : ask<RunsReply>(*client, query));
    for (const KnownRun& row : page.runs) {
      const std::string submitter = submitter_behind(row.submitter, row.run);
      listing.add({row.run, or_dash(submitter), age_text(world.unix_now_ms() - row.submitted_at_ms)},
                  {{"run", json_text(row.run)},
                   {"submitter", json_text(submitter)},
                   {"submitted_at_ms", json_time(row.submitted_at_ms)}});
    }
    more = page.more;
    if (more && (page.runs.empty() || page.runs.back().run <= query.after))
      return our_fault((client ? "broker " + client->url() : "store") + " gave the same page of runs twice");
    if (more) query.after = page.runs.back().run;
  }
  return end_of(listing, broker, "there are no runs yet");
}

}  // namespace kq::tools
