#include "tools/cli/verbs.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "sys/nearest.h"
#include "tools/cli/text.h"
#include "tools/ctl/ctl.h"

namespace kq::tools {
namespace {

namespace fs = std::filesystem;

constexpr Verb kVerbs[] = {
    {"sweep", "evaluate a folder of kernels on this machine, with a broker and a worker of its own"},
    {"problem", "look at problems before a sweep: what passes against them that should not"},
    {"submit", "send kernels to a broker"},
    {"results", "print the verdicts of a run"},
    {"show", "print one job: its evidence, what it printed, its sources, how to measure it again"},
    {"leaderboard", "print the fastest correct kernel of each problem"},
    {"report", "write the report of a run as one HTML file, or as Markdown"},
    {"compare", "compare runs: what passes, fails, got faster or slower beyond the noise"},
    {"plot", "draw one plot of a run as SVG or PNG"},
    {"dump", "write a run as CSV or JSON lines"},
    {"rejudge", "judge published kernels again, and print their claims beside the results"},
    {"up", "run a broker and a worker on this machine"},
    {"down", "stop the broker and the worker that up started"},
    {"doctor", "print what works on this machine, and what to do about the rest"},
    {"ctl", "show and control a queue: why, jobs, pause, drain, cancel, ..."},
    {"top", "show a queue live in the terminal: jobs, workers, runs, failures"},
    {"fleet", "keep as many workers in Slurm as the queue needs"},
    {"cache", "manage the build cache of this machine: ls, stats, verify, prune"},
    {"check", "check files against the guard's rules: streams, clocks, hidden programs"},
    {"completion", "print the script with which bash, zsh or fish completes kq's words"},
    {"version", "print the versions of kq and of its packages; --json"},
};

// Words that people type for a verb of kq-ctl or for another command.
constexpr std::pair<std::string_view, std::string_view> kMeantCommands[] = {
    {"export", "kq dump RUN"},
    {"list", "kq ctl runs"},
    {"log", "kq show RUN LABEL --log"},
    {"logs", "kq show RUN LABEL --log"},
    {"ls", "kq ctl runs"},
    {"history", "kq ctl runs"},
    {"ps", "kq ctl jobs --state leased"},
    {"rerun", "kq submit PATH --force-rerun"},
    {"run", "kq sweep PATH"},
    {"start", "kq up"},
    {"stop", "kq down"},
    {"wait", "kq results RUN --wait"},
    {"watch", "kq top"},
};

// Returns the command that a word means which is no verb, or nothing.
std::optional<std::string> meant_command(std::string_view word) {
  for (const auto& [known, command] : kMeantCommands) {
    if (word == known) return std::string(command);
  }
  for (const CtlVerb& verb : ctl_verbs()) {
    if (word == verb.name) return "kq ctl " + std::string(word);
  }
  return std::nullopt;
}

// Returns the verbs of the kq-* programs in a folder that are not in the table.
std::vector<std::string> other_verbs(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("kq-") || !is_verb(name.substr(3))) continue;
    const std::string verb = name.substr(3);
    if (std::none_of(std::begin(kVerbs), std::end(kVerbs), [&](const Verb& known) { return known.name == verb; }))
      found.push_back(verb);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

std::span<const Verb> verbs() {
  return kVerbs;
}

bool is_verb(std::string_view word) {
  constexpr std::string_view allowed = "abcdefghijklmnopqrstuvwxyz0123456789-_";
  return !word.empty() && word.front() != '-' && word.find_first_not_of(allowed) == std::string_view::npos;
}

std::string verbs_help(const std::string& folder) {
  std::string text =
      "kq evaluates GPU kernels in bulk: whether a kernel compiles, is correct, is fast, and measures honestly.\n\n"
      "usage: kq VERB [arguments]      kq VERB --help lists the arguments\n\n";
  for (const Verb& verb : kVerbs) {
    text += "  " + std::string(verb.name) + std::string(14 - verb.name.size(), ' ') + std::string(verb.doc) + '\n';
  }
  std::string more;
  for (const std::string& verb : other_verbs(folder)) more += " " + verb;
  if (!more.empty()) text += "\nOther programs:" + more + '\n';
  return text;
}

std::string unknown_verb(const std::string& verb, const std::string& folder) {
  if (verb == "mcp" || verb == "export")
    return "kq: kq " + verb + " is a part of the Python client: pip install './python[" +
           (verb == "mcp" ? "mcp" : "parquet") + "]', and put the environment's kq-" + verb + " into PATH";
  if (const auto command = meant_command(verb))
    return "kq: there is no verb '" + verb + "'; " + *command + " is probably meant (kq --help lists the verbs)";
  std::vector<std::string> known = other_verbs(folder);
  for (const Verb& row : kVerbs) known.insert(known.begin(), std::string(row.name));
  const auto meant = sys::nearest(verb, known);
  return "kq: there is no verb '" + printable(verb) + "'" + (meant ? "; did you mean kq " + *meant + "?" : "") +
         " (kq --help lists the verbs)";
}

}  // namespace kq::tools
