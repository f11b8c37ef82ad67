// What all verbs that ask a broker share: their flags, one question, and who is meant by a list of job numbers.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/limits.h"
#include "core/messages.h"
#include "tools/cli/flags.h"
#include "tools/ctl/ctl.h"

namespace kq::tools {

struct BrokerFlags {
  std::string broker;
  std::string key;
  bool json = false;
};
// --broker, --key and --json.
void add_flags(Flags& flags, BrokerFlags& into);

Expected<producer::Client> connect(const CtlWorld& world, const BrokerFlags& flags);

// What the broker does not allow or cannot make sense of is the asker's mistake, in the broker's words.
template <class Reply>
Expected<Reply> ask(producer::Client& client, const ClientRequest& request,
                    std::int64_t timeout_ms = producer::kAnswerTimeoutMs) {
  Expected<ClientReply> reply = client.ask(request, timeout_ms);
  if (reply && std::holds_alternative<Refused>(*reply)) return bad_input(std::get<Refused>(*reply).reason);
  if (!reply) return failure(reply.error());
  if (Reply* wanted = std::get_if<Reply>(&*reply)) return std::move(*wanted);
  return our_fault("broker " + client.url() +
                   " answered with another kind of message than asked for; are both of one version?");
}

// Job numbers as people type them.
Expected<std::vector<Sequence>> parse_seqs(const std::vector<std::string>& words);

// Calls `visit` with each page of an answer; pages by sequence, from the start.
template <class Query>
Expected<void> each_page(producer::Client& client, Query query,
                         const std::function<Expected<void>(const JobsReply&)>& visit) {
  query.limit = kQueryRowsMax;
  for (;;) {
    KQ_TRY_VALUE(const auto page, ask<JobsReply>(client, query));
    if (auto visited = visit(page); !visited) return visited;
    if (!page.more) return {};
    if (page.last_seq <= query.after_seq)
      return our_fault("broker " + client.url() + " gave the same page of jobs twice");
    query.after_seq = page.last_seq;
  }
}

// Calls `visit` with each page of a run's rows, in label order. ExitCode::nothing when there is no such run.
Expected<void> each_run_page(producer::Client& client, const std::string& run,
                             const std::function<Expected<void>(const std::vector<RunRow>&)>& visit);

}  // namespace kq::tools
