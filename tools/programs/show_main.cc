// kq-show: prints one job: how it was submitted, how it ended, what it printed, and its sources.
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "producer/client/sentences.h"
#include "producer/client/standard_output.h"
#include "store/rocks/rocks_store.h"
#include "tools/cli/flags.h"
#include "tools/cli/source.h"
#include "tools/cli/text.h"
#include "tools/stack/stop_signals.h"
#include "tools/views/job_view.h"

namespace {

namespace fs = std::filesystem;
using kq::Error;
using kq::ErrorKind;
using kq::ExitCode;
using kq::Expected;
using kq::tools::report_error;

const std::string kProgram = "kq-show";

struct Options {
  std::vector<std::string> words;
  std::string out;
  bool log = false;
  bool source = false;
  bool json = false;
  kq::tools::SourceOptions place;
};

std::optional<ExitCode> parse(int argc, char** argv, Options& options) {
  kq::tools::Flags flags(
      kProgram,
      "Prints one job: how it was submitted, how it ended, what it printed, and its sources. The job "
      "is named by its number, or by its run and label.");
  flags.arguments("JOB|RUN LABEL", "number of a job; or name of a run, and label of a job in it", options.words);
  flags.group("What is printed");
  flags.flag("--log", "print only what the submission printed", options.log);
  flags.flag("--source", "print only the source that is run, byte for byte", options.source);
  flags.json("print one JSON object with the row, the log and the files", options.json);
  flags.option("-o,--out", "DIR",
               "write the sources into this new folder, with a submissions.jsonl, which kq submit and kq sweep take",
               options.out);
  kq::tools::add_flags(flags, options.place);
  flags.examples(
      "  kq-show r1 gelu/anna\n"
      "  kq-show 12 --log\n"
      "  kq-show r1 gelu/anna -o again && kq sweep again --force-rerun");
  return flags.parse(argc, argv);
}

Expected<std::unique_ptr<kq::store::Store>> open_store(const std::string& folder) {
  return kq::store::open_rocks_store(folder, kq::store::OpenMode::read_only);
}

Error not_found(const std::string& sentence) {
  return {ErrorKind::not_found, sentence};
}

// Returns the run and the label that the command line names.
Expected<kq::tools::JobName> named_job(kq::tools::Source& source, const std::vector<std::string>& words) {
  if (words.size() == 2) return kq::tools::JobName{.run = words[0], .label = words[1]};
  if (words.size() != 1) return kq::bad_input("the number of a job is needed, or a RUN and a LABEL");
  const std::string& word = words.front();
  kq::Sequence seq = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), seq);
  if (error == std::errc() && end == word.data() + word.size() && seq > 0) {
    KQ_TRY_VALUE(auto name, source.job_name(seq));
    if (!name) return kq::failure(not_found("there is no job " + word));
    name->seq = seq;
    return std::move(*name);
  }
  std::vector<std::string> labels;
  KQ_TRY(kq::tools::each_row(source, word, [&](const kq::RunRow& row) {
    labels.push_back(row.entry.submission.label);
    return Expected<void>();
  }));
  if (labels.empty()) return kq::failure(kq::tools::no_such_run(source, word));
  if (labels.size() > 1) {
    return kq::bad_input("run '" + kq::tools::printable(word) + "' has " + std::to_string(labels.size()) +
                         " jobs; add the LABEL of one, such as " + kq::tools::printable(labels.front()) +
                         "; kq results lists them");
  }
  return kq::tools::JobName{.run = word, .label = labels.front()};
}

// Reads a file of the job. It has no text where the broker refuses it to this key, or the store has lost it.
Expected<std::optional<std::string>> read_file(kq::tools::Source& source, const kq::FileQuery& query,
                                               std::string& refusal) {
  auto reply = source.file(query);
  if (reply) return std::optional(std::string(reply->bytes.view()));
  if (reply.error().kind != ErrorKind::bad_input) return kq::failure(reply.error());
  refusal = reply.error().message;
  return std::nullopt;
}

Expected<kq::tools::ShownJob> read_job(const Options& options, const kq::tools::OpenSource& opened) {
  KQ_TRY_VALUE(const auto name, named_job(*opened.source, options.words));
  KQ_TRY_VALUE(auto row, kq::tools::one_row(*opened.source, name.run, name.label));
  if (!row) return kq::failure(kq::tools::no_such_job(*opened.source, name.run, name.label));
  if (name.seq != 0 && row->entry.seq != name.seq) {
    const std::string former = std::to_string(name.seq), seq = std::to_string(row->entry.seq);
    return kq::failure(not_found("job " + former + " has no row any more: job " + seq + " has replaced it as " +
                                 name.label + " of run " + name.run + ", and kq show " + seq +
                                 " prints that; kq ctl why " + former + " says how the former ended"));
  }
  kq::tools::ShownJob job{.run = name.run, .row = std::move(*row), .files = {}, .problem = {}};
  kq::FileQuery query{.run = name.run, .label = name.label, .hash = {}};
  const kq::Submission& submission = job.row.entry.submission;
  for (const kq::SourceFile& file : submission.files) {
    query.hash = file.hash;
    KQ_TRY_VALUE(auto content, read_file(*opened.source, query, job.refusal));
    job.files.emplace_back(file.name, std::move(content));
  }
  query.hash = submission.problem.hash;
  KQ_TRY_VALUE(auto problem, read_file(*opened.source, query, job.refusal));
  job.problem = {submission.problem.file, std::move(problem)};
  return job;
}

Expected<void> write_file(const fs::path& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  file.close();
  if (!file) return kq::bad_input("cannot write " + path.string());
  return {};
}

// Writes the sources for people, and submissions.jsonl, which has them too.
Expected<void> write_folder(const kq::tools::ShownJob& job, const fs::path& folder) {
  if (!job.has_all_files()) return kq::bad_input(job.refusal);
  std::error_code error;
  if (fs::exists(folder, error)) return kq::bad_input(folder.string() + " exists; name a new folder");
  fs::create_directories(folder, error);
  if (error) return kq::bad_input("cannot make the folder " + folder.string() + ": " + error.message());
  for (const auto& [name, content] : job.files) KQ_TRY(write_file(folder / name, *content));
  KQ_TRY(write_file(folder / ("problem_" + job.problem.first), *job.problem.second));
  return write_file(folder / "submissions.jsonl", kq::tools::submission_line(job));
}

Expected<void> show(const Options& options) {
  if (int{options.log} + int{options.source} + int{options.json} > 1)
    return kq::bad_input("--log, --source and --json exclude each other");
  KQ_TRY_VALUE(const auto opened, kq::tools::open_source(options.place, open_store));
  KQ_TRY_VALUE(const auto job, read_job(options, opened));
  if (!options.out.empty()) {
    KQ_TRY(write_folder(job, options.out));
    std::cerr << kProgram << ": wrote " << options.out << "; kq sweep " << kq::producer::shell_quoted(options.out)
              << " --force-rerun measures it again\n";
    return {};
  }
  if (options.json) {
    std::cout << kq::producer::to_text(kq::tools::job_json(job)) << '\n';
  } else if (options.log) {
    std::cout << kq::tools::log_text(job);
  } else if (options.source) {
    if (!job.files.front().second) return kq::bad_input(job.refusal);
    std::cout << *job.files.front().second;
  } else {
    const std::string place =
        options.place.store.empty() ? "" : " --store " + kq::producer::shell_quoted(options.place.store);
    std::cout << kq::tools::job_text(job, place);
  }
  std::cout << std::flush;
  return {};
}

int run(int argc, char** argv) {
  Options options;
  if (const auto code = parse(argc, argv, options)) return static_cast<int>(*code);
  const auto shown = show(options);
  return shown ? static_cast<int>(ExitCode::ok) : report_error(kProgram, shown.error());
}

}  // namespace

int main(int argc, char** argv) {
  kq::tools::end_on_closed_output();
  kq::producer::StandardOutput output(kProgram);
  return output.end(run(argc, argv));
}
