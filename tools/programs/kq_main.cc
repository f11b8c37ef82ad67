// kq VERB ...: replaces itself by the program kq-VERB. `kq version` and `kq completion` are built in.
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/base/version.h"
#include "producer/client/standard_output.h"
#include "sys/error_text.h"
#include "tools/cli/completion.h"
#include "tools/cli/flags.h"
#include "tools/cli/verbs.h"
#include "tools/cli/versions.h"
#include "tools/stack/stack.h"

namespace {

using kq::ExitCode;

int end(ExitCode code) {
  return static_cast<int>(code);
}

int version(int argc, char** argv) {
  bool json = false;
  kq::tools::Flags flags("kq-version", "Prints the versions of kq and of the packages that it was built with.");
  flags.json("print one JSON object", json);
  if (const auto code = flags.parse(argc, argv)) return end(*code);
  const auto rows = kq::tools::versions(kq::tools::process_environment);
  std::cout << (json ? kq::tools::versions_json(rows) : kq::tools::versions_text(rows)) << std::flush;
  return end(ExitCode::ok);
}

int completion(int argc, char** argv) {
  std::string shell;
  kq::tools::Flags flags("kq-completion",
                         "Prints the script with which a shell completes the verbs and options of kq's programs. "
                         "Debian packages install it already.");
  flags.argument("SHELL", "bash, zsh or fish", shell);
  flags.examples(
      "  source <(kq completion bash)      # in ~/.bashrc\n"
      "  source <(kq completion zsh)       # in ~/.zshrc, below compinit\n"
      "  kq completion fish | source       # in ~/.config/fish/config.fish");
  if (const auto code = flags.parse(argc, argv)) return end(*code);
  const auto script = kq::tools::completion_script(shell);
  if (!script) return kq::tools::report_error("kq-completion", script.error());
  std::cout << *script << std::flush;
  return end(ExitCode::ok);
}

// Executes kq-VERB from the folder of this program, else from PATH. Returns only when no such program can be started.
int exec_verb(const std::string& verb, std::vector<char*> words) {
  const std::string name = "kq-" + verb;
  const std::string beside = kq::tools::program_folder() + "/" + name;
  words.push_back(nullptr);
  ::execv(beside.c_str(), words.data());
  const int error = errno;
  if (error == ENOENT) ::execvp(name.c_str(), words.data());
  if (error == ENOENT && errno == ENOENT) {
    std::cerr << kq::tools::unknown_verb(verb, kq::tools::program_folder()) << '\n';
    return end(ExitCode::bad_input);
  }
  std::cerr << "kq: cannot start " << beside << ": " << kq::sys::error_text(error == ENOENT ? errno : error) << '\n';
  return end(ExitCode::our_fault);
}

int run(int argc, char** argv) {
  std::vector<char*> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  const std::string first = words.empty() ? "" : words.front();
  if (first == "--version") {
    std::cout << "kq " << kq::kVersion << '\n';
    return end(ExitCode::ok);
  }
  // `kq help VERB` means `kq VERB --help`.
  std::string help = "--help";
  if (first == "help" && words.size() == 2) {
    words = {words[1], help.data()};
  } else if (first.empty() || first == "--help" || first == "-h" || first == "help") {
    (first.empty() ? std::cerr : std::cout) << kq::tools::verbs_help(kq::tools::program_folder());
    return end(first.empty() ? ExitCode::bad_input : ExitCode::ok);
  }
  const std::string verb = words.front();
  if (verb == "version") return version(static_cast<int>(words.size()), words.data());
  if (verb == "completion") return completion(static_cast<int>(words.size()), words.data());
  if (!kq::tools::is_verb(verb)) {
    std::cerr << kq::tools::unknown_verb(verb, kq::tools::program_folder()) << '\n';
    return end(ExitCode::bad_input);
  }
  return exec_verb(verb, words);
}

}  // namespace

int main(int argc, char** argv) {
  kq::producer::StandardOutput output("kq");
  return output.end(run(argc, argv));
}
