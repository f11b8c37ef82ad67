// Where a tool reads rows and boards from: a running broker, or a store whose broker may be stopped.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/messages.h"
#include "producer/client/client.h"
#include "store/store.h"
#include "tools/cli/flags.h"

namespace kq::tools {

// The run and the label under which a job was first submitted.
struct JobName {
  std::string run;
  std::string label;
  Sequence seq = 0;  // of the job; 0 where the row was named
};

// Reads the rows of runs and the leaderboards one page at a time.
class Source {
 public:
  virtual ~Source() = default;
  virtual Expected<RunReply> run_page(const RunQuery& query) = 0;
  virtual Expected<BoardReply> board_page(const BoardQuery& query) = 0;
  virtual Expected<RunsReply> runs_page(const RunsQuery&) { return RunsReply{}; }  // sources of one run know no runs
  // Returns the name of a job, or nothing for an unknown number.
  virtual Expected<std::optional<JobName>> job_name(Sequence) { return std::nullopt; }
  // Returns a source or the problem of a row. Fails where the caller may not read it, or the row has no such file.
  virtual Expected<FileReply> file(const FileQuery& query);

  // Where the rows come from, for error texts: "at the broker URL" or "in the store DIR". Empty for a source of a test.
  std::string where{};
};

std::unique_ptr<Source> broker_source(producer::Client& client);  // the client must outlive the source
std::unique_ptr<Source> store_source(std::unique_ptr<store::Store> store);

// Calls `visit` with every row of a run in the order of labels, with a few pages in memory at a time. An Error of
// `visit` ends the iteration and is returned.
using VisitRow = std::function<Expected<void>(const RunRow& row)>;
Expected<void> each_row(Source& source, const std::string& run, const VisitRow& visit, bool with_samples = false);
// Does the same with RunRow::reruns, for boards.
Expected<void> each_row_with_reruns(Source& source, const std::string& run, const VisitRow& visit);

// Returns the row of one label, or nothing where the run has no such label.
Expected<std::optional<RunRow>> one_row(Source& source, const std::string& run, const std::string& label);

// Returns the rows of all boards, ordered by problem name, then device model.
Expected<std::vector<LeaderboardRow>> all_boards(Source& source);

// Returns the names of all runs, in their order.
Expected<std::vector<std::string>> all_runs(Source& source);

// Returns the content of a file of a row; nothing where the caller may not read it, or it is not kept any more.
Expected<std::optional<std::string>> readable_file(Source& source, const RunRow& row, const Hash& hash);

// The values of --broker, --key and --store. Without --broker and --store, open_source() finds the place
// (tools/cli/default_place.h).
struct SourceOptions {
  std::string broker;
  std::string key{};  // path of a key file; empty for no key
  std::string store;
  std::int64_t answer_ms = producer::kAnswerTimeoutMs;  // how long the broker may take for its first answer
};
void add_flags(Flags& flags, SourceOptions& options);

// Returns the error for a run without rows. The text says where the run was looked for, and names the stores in the
// state folders of this user that were not read.
Error no_such_run(Source& source, const std::string& run);

// Returns the error for a label that a run does not have: no_such_run() where the run has no rows, else a text that
// names the label of the run that was probably meant, such as `gelu/anna` for `anna`.
Error no_such_job(Source& source, const std::string& run, const std::string& label);

// Opens a store directory for reading. It is a parameter because only a main function links the real store.
using OpenStore = std::function<Expected<std::unique_ptr<store::Store>>(const std::string& folder)>;

// Returns the store inside a state folder of kq sweep or kq up, else `folder` itself.
std::string store_in(const std::string& folder);

// A source and the client that it reads through.
struct OpenSource {
  std::unique_ptr<producer::Client> client;  // null when a store is read
  std::unique_ptr<Source> source;
  std::string place = "";  // URL of the broker, or folder of the store
};
// Opens the store when --store names one, else connects to the broker and asks it once, so that an absent broker is an
// Error here. A state folder of kq sweep or kq up stands for the store inside it.
Expected<OpenSource> open_source(const SourceOptions& options, const OpenStore& open_store);

}  // namespace kq::tools
