#include "tools/ctl/broker_requests.h"

#include <charconv>

#include "core/base/own_share.h"
#include "core/limits.h"
#include "net/endpoint.h"
#include "tools/cli/text.h"
#include "tools/ctl/world.h"

namespace kq::tools {

void add_flags(Flags& flags, BrokerFlags& into) {
  flags.group("Broker and output");
  flags.option(
      "--broker", "URL",
      "URL of the broker to ask (default: $KQ_BROKER, else the broker of kq up or of a running kq sweep, else " +
          std::string(net::kDefaultBrokerUrl) + ")",
      into.broker);
  flags.option("--key", "FILE", "your key file, for a broker that requires keys", into.key, "KQ_KEY");
  flags.json("print one JSON object on standard output", into.json);
}

void add_flags_with_state(Flags& flags, BrokerFlags& into, const std::string& names) {
  add_flags(flags, into);
  flags.option(names, "DIR",
               "state folder of the kq sweep or kq up whose jobs these are, or its store; where no broker runs in it, "
               "one is started "
               "for this command (default: that of the last kq sweep or kq up where no broker runs)",
               into.state);
}

Expected<producer::Client> connect(const CtlWorld& world, const BrokerFlags& flags) {
  return world.connect(flags.broker, flags.key);
}

Expected<producer::Client> connect_or_start(const CtlWorld& world, const BrokerFlags& flags) {
  if (!flags.state.empty() && !flags.broker.empty()) return bad_input("give either --state DIR or --broker URL");
  return flags.broker.empty() ? world.connect_or_start(flags.state, flags.key) : connect(world, flags);
}

Expected<std::vector<Sequence>> parse_seqs(const std::vector<std::string>& words) {
  std::vector<Sequence> seqs;
  for (const std::string& word : words) {
    Sequence seq = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), seq);
    if (error != std::errc() || end != word.data() + word.size() || seq == 0) {
      return bad_input("'" + word + "' is not a job number; kq submit prints the numbers of jobs");
    }
    seqs.push_back(seq);
  }
  return seqs;
}

Expected<void> each_run_page(producer::Client& client, const std::string& run,
                             const std::function<Expected<void>(const std::vector<RunRow>&)>& visit) {
  RunQuery query{.run = run, .after_label = "", .limit = kQueryRowsMax};
  for (bool is_first = true;; is_first = false) {
    KQ_TRY_VALUE(const auto page, ask<RunReply>(client, query));
    if (page.rows.empty()) {
      if (is_first) return failure(Error{ErrorKind::not_found, "there is no run '" + run + "'"});
      return {};
    }
    KQ_TRY(visit(page.rows));
    if (!page.more) return {};
    query.after_label = page.rows.back().entry.submission.label;
  }
}

Expected<void> each_known_run(producer::Client& client, const std::function<void(const KnownRun&)>& visit) {
  RunsQuery query{.after = "", .limit = kQueryRowsMax};
  for (;;) {
    KQ_TRY_VALUE(const auto page, ask<RunsReply>(client, query));
    for (const KnownRun& run : page.runs) visit(run);
    if (!page.more) return {};
    if (page.runs.empty() || page.runs.back().run <= query.after)
      return our_fault("broker " + client.url() + " gave the same page of runs twice");
    query.after = page.runs.back().run;
  }
}

Expected<std::set<std::string>> submitters_of_runs(producer::Client& client) {
  std::set<std::string> names;
  KQ_TRY(each_known_run(client, [&](const KnownRun& run) {
    names.insert(run.submitter);
    names.insert(submitter_behind(run.submitter, run.run));
  }));
  return names;
}

}  // namespace kq::tools
