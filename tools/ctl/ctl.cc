#include "tools/ctl/ctl.h"

#include <ostream>
#include <vector>

#include "core/base/version.h"
#include "tools/cli/nearest.h"
#include "tools/cli/text.h"
#include "tools/ctl/cache.h"
#include "tools/ctl/job_verbs.h"
#include "tools/ctl/keygen.h"
#include "tools/ctl/lease_verbs.h"
#include "tools/ctl/listing_verbs.h"
#include "tools/ctl/overview_verbs.h"
#include "tools/ctl/store_verbs.h"
#include "tools/ctl/why.h"

namespace kq::tools {
namespace {

constexpr CtlVerb kVerbs[] = {
    {"stats", ctl_stats, "every figure the broker keeps of itself"},
    {"queue", ctl_queue, "what waits, by lane: priority, submitter, what it needs, how long"},
    {"workers", ctl_workers, "who is connected, with which devices and labels, and what they do"},
    {"runs", ctl_runs, "the runs that there are"},
    {"jobs", ctl_jobs, "the jobs in one state, one by one"},
    {"dead-letters", ctl_dead_letters, "jobs that our own failures ended, with the last evidence"},
    {"why", ctl_why, "why a job, or a run's jobs, are not done yet"},
    {"pause", ctl_pause, "lease nothing more, to anybody or of one submitter"},
    {"resume", ctl_resume, "lease again"},
    {"drain", ctl_drain, "give a worker nothing new; --wait until it is idle, --undo to take it back"},
    {"cancel", ctl_cancel, "end jobs as cancelled, waiting or running"},
    {"retry", ctl_retry, "queue jobs again that have no lasting verdict"},
    {"requeue", ctl_requeue, "queue dead letters again"},
    {"purge", ctl_purge, "strike dead letters off the list"},
    {"backup", ctl_backup, "copy the store of a running broker"},
    {"restore", ctl_restore, "make a store of a backup; no broker is asked"},
    {"verify", ctl_verify, "look whether a store keeps every promise; no broker is asked"},
    {"cache", ctl_cache, "the build cache of this machine: ls, stats, verify, prune; no broker is asked"},
    {"keygen", ctl_keygen, "make a key for a person or a worker, or revoke one"},
};

std::string help() {
  std::string text =
      "kq-ctl shows and steers the queue of a broker.\n\n"
      "usage: kq-ctl VERB [arguments]      kq-ctl VERB --help tells the arguments\n\n";
  for (const CtlVerb& verb : kVerbs) {
    text += "  " + std::string(verb.name) + std::string(14 - verb.name.size(), ' ') + std::string(verb.doc) + '\n';
  }
  return text;
}

std::string unknown(const std::string& word) {
  std::vector<std::string> known;
  for (const CtlVerb& verb : kVerbs) known.emplace_back(verb.name);
  const auto meant = nearest(word, known);
  return "there is no verb '" + printable(word) + "'" + (meant ? "; did you mean kq-ctl " + *meant + "?" : "") +
         " (kq-ctl --help lists what there is)";
}

int tell(const CtlWorld& world, const std::string& program, const Error& error) {
  world.err << program << ": " << printable(error.message) << '\n';
  return static_cast<int>(exit_code(error.kind));
}

}  // namespace

std::span<const CtlVerb> ctl_verbs() {
  return kVerbs;
}

int run_ctl(int argc, const char* const* argv, const CtlWorld& world) {
  const std::string word = argc > 1 ? argv[1] : "";
  if (word == "--version") {
    world.out << "kq-ctl " << kVersion << '\n';
    return 0;
  }
  if (word.empty() || word == "--help" || word == "-h" || word == "help") {
    (word.empty() ? world.err : world.out) << help();
    return static_cast<int>(word.empty() ? ExitCode::bad_input : ExitCode::ok);
  }
  for (const CtlVerb& verb : kVerbs) {
    if (verb.name != word) continue;
    const std::string program = "kq-ctl " + word;
    std::vector<const char*> words(argv + 1, argv + argc);
    words.front() = program.c_str();
    const Expected<ExitCode> done = verb.run(static_cast<int>(words.size()), words.data(), world);
    world.out << std::flush;
    return done ? static_cast<int>(*done) : tell(world, program, done.error());
  }
  return tell(world, "kq-ctl", {ErrorKind::bad_input, unknown(word)});
}

}  // namespace kq::tools
