#include "tools/ctl/ctl.h"

#include <ostream>
#include <vector>

#include "core/base/version.h"
#include "producer/client/sentences.h"
#include "sys/nearest.h"
#include "tools/cli/text.h"
#include "tools/ctl/cache.h"
#include "tools/ctl/job_verbs.h"
#include "tools/ctl/keygen.h"
#include "tools/ctl/lease_verbs.h"
#include "tools/ctl/listing_verbs.h"
#include "tools/ctl/overview_verbs.h"
#include "tools/ctl/share_verb.h"
#include "tools/ctl/store_verbs.h"
#include "tools/ctl/why.h"
#include "tools/ctl/world.h"

namespace kq::tools {
namespace {

constexpr CtlVerb kVerbs[] = {
    {"status", ctl_status, "print the length of the queue, what is paused, and whether the broker has keys"},
    {"stats", ctl_stats, "print the metrics of the broker"},
    {"queue", ctl_queue, "print the queued jobs by lane: priority, submitter, requirements, age"},
    {"workers", ctl_workers, "list the connected workers with their devices, labels and states"},
    {"runs", ctl_runs, "list the known runs"},
    {"jobs", ctl_jobs, "list the jobs in one state"},
    {"dead-letters", ctl_dead_letters, "list the jobs that failures of kq ended, with the last failure"},
    {"why", ctl_why, "explain why a job, or the jobs of a run, are not done yet"},
    {"pause", ctl_pause, "stop leasing jobs, of all submitters or of one"},
    {"resume", ctl_resume, "start leasing jobs again"},
    {"drain", ctl_drain, "give a worker no new jobs; --wait waits until it is idle, --undo ends the drain"},
    {"cancel", ctl_cancel, "end queued and running jobs as cancelled"},
    {"share", ctl_share, "let others add rows to a run and read its sources"},
    {"retry", ctl_retry, "queue jobs again whose verdict is not terminal"},
    {"requeue", ctl_requeue, "queue dead letters again"},
    {"purge", ctl_purge, "remove dead letters from the list"},
    {"backup", ctl_backup, "copy the store of a running broker to a directory"},
    {"restore", ctl_restore, "make a store from a backup, without a broker"},
    {"promote", ctl_promote, "order a standby on this machine to serve, without a broker"},
    {"verify", ctl_verify, "check a store for damage, without a broker"},
    {"cache", ctl_cache, "manage the build cache of this machine, without a broker: ls, stats, verify, prune"},
    {"keygen", ctl_keygen, "issue a key for a person or a worker, or revoke one, without a broker"},
};

std::string help() {
  std::string text =
      "kq-ctl shows and controls the queue of a broker.\n\n"
      "usage: kq-ctl VERB [arguments]      kq-ctl VERB --help lists the arguments\n\n";
  for (const CtlVerb& verb : kVerbs) {
    text += "  " + std::string(verb.name) + std::string(14 - verb.name.size(), ' ') + std::string(verb.doc) + '\n';
  }
  return text;
}

std::string unknown_verb_text(const std::string& word) {
  std::vector<std::string> known;
  for (const CtlVerb& verb : kVerbs) known.emplace_back(verb.name);
  const auto meant = sys::nearest(word, known);
  return "there is no verb '" + printable(word) + "'" + (meant ? "; did you mean kq-ctl " + *meant + "?" : "") +
         " (kq-ctl --help lists the verbs)";
}

// Prints the sentence of an Error and returns its exit code.
int print_error(const CtlWorld& world, const std::string& program, const Error& error) {
  world.err << program << ": " << printable(producer::cut_message(error.message)) << '\n';
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
    return done ? static_cast<int>(*done) : print_error(world, program, done.error());
  }
  return print_error(world, "kq-ctl", {ErrorKind::bad_input, unknown_verb_text(word)});
}

}  // namespace kq::tools
