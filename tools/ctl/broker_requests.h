// What the verbs that ask a broker share: their flags, sending one request, reading an answer page by page.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/limits.h"
#include "core/messages.h"
#include "producer/client/client.h"
#include "tools/cli/flags.h"

namespace kq::tools {

struct CtlWorld;

// The values of --broker, --key, --state and --json.
struct BrokerFlags {
  std::string broker;  // empty: the broker that readers find without an option
  std::string key;
  std::string state;  // the state folder whose broker is asked, and started where none runs; empty: none is named
  bool json = false;
};
// Declares --broker, --key and --json, which fill in `into`.
void add_flags(Flags& flags, BrokerFlags& into);
// Declares --state and --store as well, for the verbs about jobs, which a store has also while no broker runs. `names`
// leaves --state out where a verb has an option of this name.
void add_flags_with_state(Flags& flags, BrokerFlags& into, const std::string& names = "--state,--store");

Expected<producer::Client> connect(const CtlWorld& world, const BrokerFlags& flags);
// Connects as CtlWorld::connect_or_start() does, or to the broker of --broker.
Expected<producer::Client> connect_or_start(const CtlWorld& world, const BrokerFlags& flags);

// Sends a request and returns its reply. A request that the broker refuses is bad input, with the broker's reason as
// the message; a reply of another type is a fault of kq.
template <class Reply>
Expected<Reply> ask(producer::Client& client, const ClientRequest& request,
                    std::int64_t timeout_ms = producer::kAnswerTimeoutMs) {
  Expected<ClientReply> reply = client.ask(request, timeout_ms);
  if (reply && std::holds_alternative<Refused>(*reply)) return bad_input(std::get<Refused>(*reply).reason);
  if (!reply) return failure(reply.error());
  if (Reply* wanted = std::get_if<Reply>(&*reply)) return std::move(*wanted);
  return our_fault("broker " + client.url() +
                   " answered with an unexpected kind of message; broker and kq-ctl must have the same version");
}

// Parses job numbers as people type them. Bad input for a word that is not a positive number.
Expected<std::vector<Sequence>> parse_seqs(const std::vector<std::string>& words);

// Calls `visit` with each page of the answer to a query whose pages are ordered by sequence number, from the start.
template <class Query>
Expected<void> each_page(producer::Client& client, Query query,
                         const std::function<Expected<void>(const JobsReply&)>& visit) {
  query.limit = kQueryRowsMax;
  for (;;) {
    KQ_TRY_VALUE(const auto page, ask<JobsReply>(client, query));
    KQ_TRY(visit(page));
    if (!page.more) return {};
    if (page.last_seq <= query.after_seq)
      return our_fault("broker " + client.url() + " gave the same page of jobs twice");
    query.after_seq = page.last_seq;
  }
}

// Calls `visit` with each page of a run's rows, in the order of labels. The Error is not_found when there is no such
// run.
Expected<void> each_run_page(producer::Client& client, const std::string& run,
                             const std::function<Expected<void>(const std::vector<RunRow>&)>& visit);

// Calls `visit` with each run that the broker knows, in the order of names.
Expected<void> each_known_run(producer::Client& client, const std::function<void(const KnownRun&)>& visit);

// Returns the names of the submitters that have a run. A kq sweep submits as NAME/RUN, and counts as NAME.
Expected<std::set<std::string>> submitters_of_runs(producer::Client& client);

}  // namespace kq::tools
