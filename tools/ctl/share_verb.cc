#include "tools/ctl/share_verb.h"

#include <ostream>

#include "producer/client/sentences.h"
#include "tools/ctl/broker_requests.h"
#include "tools/ctl/listing.h"
#include "tools/ctl/world.h"

namespace kq::tools {
namespace {

// Returns the names that have no run. The broker does not tell which keys there are, so such a name may be misspelt.
Expected<std::vector<std::string>> names_without_runs(producer::Client& client, const std::vector<std::string>& names) {
  KQ_TRY_VALUE(const auto known, submitters_of_runs(client));
  std::vector<std::string> unknown;
  for (const std::string& name : names) {
    if (!known.contains(name)) unknown.push_back(name);
  }
  return unknown;
}

std::string unknown_text(const std::vector<std::string>& names) {
  if (names.empty()) return "";
  return "; " + joined(names) + (names.size() == 1 ? " has" : " have") + " no run yet: check that " +
         (names.size() == 1 ? "this is the name of a key" : "these are names of keys");
}

}  // namespace

Expected<ExitCode> ctl_share(int argc, const char* const* argv, const CtlWorld& world) {
  BrokerFlags broker;
  ShareRun request;
  bool undo = false;
  Flags flags(argv[0],
              "Lets others add rows to a run and read its sources and logs. The first key that submits to a run owns "
              "it; only the owner and admins may share it. A broker without keys shares every run with every client.");
  flags.argument("RUN", "name of the run", request.run);
  flags.arguments("NAME", "names of keys; a gateway shows its users their own runs only, whatever is shared",
                  request.names);
  flags.flag("--undo", "take the rights back", undo);
  add_flags(flags, broker);
  if (const auto code = flags.parse(argc, argv)) return *code;
  if (request.names.empty()) return bad_input("give the names with which to share run " + request.run);
  request.shared = !undo;
  KQ_TRY_VALUE(auto client, connect(world, broker));
  KQ_TRY(ask<Done>(client, request));
  KQ_TRY_VALUE(const auto unknown, names_without_runs(client, request.names));
  KQ_TRY_VALUE(const auto first, ask<RunReply>(client, RunQuery{.run = request.run, .after_label = "", .limit = 1}));
  if (broker.json) {
    const producer::JsonObject object{{"run", json_text(request.run)},
                                      {"names", json_texts(request.names)},
                                      {"shared", producer::Json{request.shared}},
                                      {"unknown", json_texts(unknown)}};
    world.out << producer::to_text(producer::Json{object}) << '\n';
    return ExitCode::ok;
  }
  world.out << "run " << printable(request.run) << " is " << (undo ? "no longer " : "") << "shared with "
            << printable(joined(request.names) + unknown_text(unknown) +
                         (first.rows.empty() ? "; the run has no jobs yet: check its name" : ""))
            << '\n';
  return ExitCode::ok;
}

}  // namespace kq::tools
