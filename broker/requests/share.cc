#include "broker/requests/share.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "broker/jobs/ownership.h"
#include "core/codec/codec.h"
#include "core/limits.h"
#include "store/keys.h"
#include "store/reader.h"

namespace kq::broker {
namespace {

constexpr std::string_view kConcealed =
    "the broker shows this to the submitter and to those with whom the run is shared";

// Returns what is wrong with the request, or nothing.
std::optional<std::string> validation_error(const Caller& caller, const ShareRun& request) {
  if (caller.identity.name.empty()) return "a broker without keys shares every run with every client";
  if (const auto wrong = name_error(request.run)) return "run " + *wrong;
  for (const std::string& name : request.names) {
    if (const auto wrong = name_error(name)) return "a name to share with " + *wrong;
  }
  const std::string submitter = submitter_of(caller, request.submitter);
  if (const auto wrong = name_error(submitter)) return "submitter " + *wrong;
  return std::nullopt;
}

void conceal(Verdict& verdict) {
  Evidence* evidence = nullptr;
  if (auto* suspect = std::get_if<Suspect>(&verdict)) evidence = &suspect->evidence;
  if (auto* ended = std::get_if<Ended>(&verdict)) evidence = &ended->evidence;
  if (evidence != nullptr && !evidence->message.empty()) evidence->message = kConcealed;
}

void conceal(Result& result) {
  result.log.clear();
  conceal(result.verdict);
  for (CaseResult& one : result.cases) conceal(one.verdict);
  if (!result.extensions) return;
  for (FailedExtension& failed : result.extensions->failed) failed.error = kConcealed;
}

// Returns the name under which the submission has the file, or nothing.
std::optional<std::string> name_of_file(const Submission& submission, const Hash& hash) {
  for (const SourceFile& file : submission.files) {
    if (file.hash == hash) return file.name;
  }
  if (submission.problem.hash == hash) return submission.problem.file;
  return std::nullopt;
}

}  // namespace

Expected<void> answer(Step& step, const Caller& caller, const ShareRun& request) {
  if (auto wrong = validation_error(caller, request)) {
    reply(step, caller, Refused{std::move(*wrong)});
    return {};
  }
  const std::string submitter = submitter_of(caller, request.submitter);
  KQ_TRY_VALUE(auto known, owner_of(step.state, request.run));
  RunOwner owner = known ? std::move(*known) : RunOwner{.owner = submitter};
  if (!may_share(caller, owner)) {
    reply(step, caller,
          Refused{"run '" + request.run + "' belongs to " + owner.owner + ", who may share it; so may an admin"});
    return {};
  }
  for (const std::string& name : request.names) {
    const auto place = std::ranges::lower_bound(owner.shared, name);
    const bool is_there = place != owner.shared.end() && *place == name;
    if (request.shared && !is_there) owner.shared.insert(place, name);
    if (!request.shared && is_there) owner.shared.erase(place);
  }
  if (owner.shared.size() > kShareNamesMax) {
    reply(step, caller,
          Refused{"a run is shared with at most " + std::to_string(kShareNamesMax) + " names, got " +
                  std::to_string(owner.shared.size())});
    return {};
  }
  step.ready.write(store::Family::owner, request.run, encode(owner));
  step.state.rights.owners.insert_or_assign(request.run, std::move(owner));
  reply(step, caller, Done{});
  return {};
}

Expected<void> answer(Step& step, const Caller& caller, const FileQuery& query) {
  const auto refuse = [&](std::string reason) -> Expected<void> {
    reply(step, caller, Refused{std::move(reason)});
    return {};
  };
  if (const auto wrong = name_error(query.run)) return refuse("run " + *wrong);
  if (const auto wrong = name_error(query.label)) return refuse("label " + *wrong);
  const std::string row = "'" + query.label + "' in run '" + query.run + "'";
  KQ_TRY_VALUE(const auto entry, store::read_entry(*step.state.store, query.run, query.label));
  if (!entry) return refuse("there is no row " + row);
  KQ_TRY_VALUE(const auto owner, owner_of(step.state, query.run));
  if (!may_read(caller, owner, entry->submitter))
    return refuse("the files of row " + row + " are for its submitter and those with whom its run is shared");
  auto name = name_of_file(entry->submission, query.hash);
  if (!name) return refuse("row " + row + " has no file with the SHA-256 " + to_hex(query.hash));
  KQ_TRY_VALUE(auto content, store::read_file(*step.state.store, query.hash));
  if (!content) return refuse("the store has lost file '" + *name + "' of row " + row);
  reply(step, caller, FileReply{.name = std::move(*name), .hash = query.hash, .bytes = std::move(*content)});
  return {};
}

Expected<void> conceal(const State& state, const Caller& caller, RunReply& page) {
  if (page.rows.empty() || may_read(caller, std::nullopt, "")) return {};
  KQ_TRY_VALUE(const auto owner, owner_of(state, page.rows.front().run));
  for (RunRow& row : page.rows) {
    if (row.result && !may_read(caller, owner, row.entry.submitter)) conceal(*row.result);
  }
  return {};
}

}  // namespace kq::broker
