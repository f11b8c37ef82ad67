#include "tools/cli/source.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <tuple>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "net/endpoint.h"
#include "producer/client/sentences.h"
#include "store/reader.h"
#include "sys/nearest.h"
#include "tools/cli/default_place.h"
#include "tools/cli/natural_order.h"
#include "tools/cli/text.h"
#include "tools/views/run_pages.h"

namespace kq::tools {
namespace {

namespace fs = std::filesystem;

class BrokerSource final : public Source {
 public:
  explicit BrokerSource(producer::Client& client) : client_(client) {}
  Expected<RunReply> run_page(const RunQuery& query) override { return client_.ask_for<RunReply>(query); }
  Expected<BoardReply> board_page(const BoardQuery& query) override { return client_.ask_for<BoardReply>(query); }
  Expected<RunsReply> runs_page(const RunsQuery& query) override { return client_.ask_for<RunsReply>(query); }
  Expected<std::optional<JobName>> job_name(Sequence seq) override {
    for (const JobState state : {JobState::finished, JobState::leased, JobState::queued}) {
      KQ_TRY_VALUE(const auto page,
                   client_.ask_for<JobsReply>(JobsQuery{.state = state, .after_seq = seq - 1, .limit = 1}));
      if (!page.jobs.empty() && page.jobs.front().job.seq == seq)
        return std::optional(JobName{.run = page.jobs.front().job.run, .label = page.jobs.front().label});
    }
    return std::nullopt;
  }
  Expected<FileReply> file(const FileQuery& query) override { return client_.ask_for<FileReply>(query); }

 private:
  producer::Client& client_;
};

class StoreSource final : public Source {
 public:
  explicit StoreSource(std::unique_ptr<store::Store> store) : store_(std::move(store)) {}
  Expected<RunReply> run_page(const RunQuery& query) override { return store::read_run(*store_, query); }
  Expected<BoardReply> board_page(const BoardQuery& query) override { return store::read_board(*store_, query); }
  Expected<RunsReply> runs_page(const RunsQuery& query) override { return store::read_runs(*store_, query); }
  Expected<std::optional<JobName>> job_name(Sequence seq) override {
    KQ_TRY_VALUE(const auto job, store::read_job(*store_, seq));
    KQ_TRY_VALUE(const auto body, store::read_body(*store_, seq));
    if (!job || !body) return std::nullopt;
    return std::optional(JobName{.run = job->run, .label = body->label});
  }
  Expected<FileReply> file(const FileQuery& query) override {
    KQ_TRY_VALUE(auto content, store::read_file(*store_, query.hash));
    if (content) return FileReply{.name = "", .hash = query.hash, .bytes = std::move(*content)};
    return bad_input("the store has no file with the SHA-256 " + to_hex(query.hash));
  }

 private:
  std::unique_ptr<store::Store> store_;
};

// Returns whether to ask for another page. A broker that announces more rows but sends none is an Error, because the
// paging would never end.
Expected<bool> has_next_page(bool more, bool is_empty) {
  if (more && is_empty)
    return our_fault("the broker announces more rows but sends none; broker and tool must have the same version");
  return more;
}

Expected<void> each_row_of(Source& source, const RunQuery& query, const VisitRow& visit) {
  RunPages pages(source, query);
  RunReply page;
  while (true) {
    Expected<RunReply> next = pages.next(std::move(page));
    if (!next) return failure(next.error());
    page = std::move(*next);
    const Expected<bool> more = has_next_page(page.more, page.rows.empty());
    if (!more) return failure(more.error());
    for (const RunRow& row : page.rows) {
      if (const auto visited = visit(row); !visited) return visited;
    }
    if (!*more) return {};
  }
}

Expected<OpenSource> open_broker(const SourceOptions& options) {
  Expected<producer::Client> connected = producer::Client::connect(options.broker, options.key);
  if (!connected) return failure(connected.error());
  OpenSource open;
  open.client = std::make_unique<producer::Client>(std::move(*connected));
  const Expected<BrokerReply> there = open.client->ask_for<BrokerReply>(BrokerQuery{}, options.answer_ms);
  if (!there)
    return failure(
        Error{there.error().kind, there.error().message + "; or read the store of a stopped broker with --store DIR"});
  open.source = broker_source(*open.client);
  open.place = open.client->url();
  open.source->where = "at the broker " + open.place;
  return open;
}

}  // namespace

Expected<FileReply> Source::file(const FileQuery& query) {
  return bad_input("there is no file with the SHA-256 " + to_hex(query.hash));
}

std::unique_ptr<Source> broker_source(producer::Client& client) {
  return std::make_unique<BrokerSource>(client);
}

std::unique_ptr<Source> store_source(std::unique_ptr<store::Store> store) {
  return std::make_unique<StoreSource>(std::move(store));
}

Expected<void> each_row(Source& source, const std::string& run, const VisitRow& visit, bool with_samples) {
  return each_row_of(source, {.run = run, .after_label = "", .limit = kQueryRowsMax, .with_samples = with_samples},
                     visit);
}

Expected<void> each_row_with_reruns(Source& source, const std::string& run, const VisitRow& visit) {
  return each_row_of(source, {.run = run, .after_label = "", .limit = kQueryRowsMax, .with_reruns = true}, visit);
}

Expected<std::optional<RunRow>> one_row(Source& source, const std::string& run, const std::string& label) {
  // A label without its last byte comes before the label, and mostly not long before it.
  RunQuery query{.run = run,
                 .after_label = label.substr(0, label.empty() ? 0 : label.size() - 1),
                 .limit = kQueryRowsMax,
                 .with_samples = true};
  while (true) {
    KQ_TRY_VALUE(auto page, source.run_page(query));
    for (RunRow& row : page.rows) {
      if (row.entry.submission.label == label) return std::optional(std::move(row));
    }
    KQ_TRY_VALUE(const bool more, has_next_page(page.more, page.rows.empty()));
    if (!more || page.rows.back().entry.submission.label > label) return std::nullopt;
    query.after_label = page.rows.back().entry.submission.label;
  }
}

Expected<std::vector<LeaderboardRow>> all_boards(Source& source) {
  std::vector<LeaderboardRow> rows;
  BoardQuery query{.after_key = "", .limit = kQueryRowsMax};
  while (true) {
    Expected<BoardReply> page = source.board_page(query);
    if (!page) return failure(page.error());
    std::move(page->rows.begin(), page->rows.end(), std::back_inserter(rows));
    const Expected<bool> more = has_next_page(page->more, page->rows.empty());
    if (!more) return failure(more.error());
    if (!*more) break;
    query.after_key = page->last_key;
  }
  std::sort(rows.begin(), rows.end(), [](const LeaderboardRow& a, const LeaderboardRow& b) {
    if (const auto order = natural_order(a.problem, b.problem); order != 0) return order < 0;
    return std::tie(a.device_model, a.problem_hash) < std::tie(b.device_model, b.problem_hash);
  });
  return rows;
}

Expected<std::vector<std::string>> all_runs(Source& source) {
  std::vector<std::string> names;
  RunsQuery query{.after = "", .limit = kQueryRowsMax};
  while (true) {
    KQ_TRY_VALUE(const RunsReply page, source.runs_page(query));
    for (const KnownRun& run : page.runs) names.push_back(run.run);
    KQ_TRY_VALUE(const bool more, has_next_page(page.more, page.runs.empty()));
    if (!more) return names;
    query.after = names.back();
  }
}

std::string store_in(const std::string& folder) {
  std::error_code ignored;
  const fs::path inside = fs::path(folder) / "store";
  const bool is_store = fs::exists(fs::path(folder) / "CURRENT", ignored);
  return !is_store && fs::exists(inside / "CURRENT", ignored) ? inside.string() : folder;
}

Expected<std::optional<std::string>> readable_file(Source& source, const RunRow& row, const Hash& hash) {
  const auto reply = source.file({.run = row.run, .label = row.entry.submission.label, .hash = hash});
  if (reply) return std::optional<std::string>(reply->bytes.view());
  if (reply.error().kind == ErrorKind::bad_input) return std::nullopt;
  return failure(reply.error());
}

Error no_such_run(Source& source, const std::string& run) {
  std::string text = "there is no run '" + printable(run) + "'" + (source.where.empty() ? "" : " " + source.where);
  if (const auto known = all_runs(source)) {
    // With a key the default name of a run has the name of the key before it.
    const auto longer = std::ranges::find_if(*known, [&](const std::string& one) { return one.ends_with("/" + run); });
    const auto meant = longer != known->end() ? std::optional(*longer) : sys::nearest(run, *known);
    if (meant) text += "; did you mean " + printable(*meant) + "?";
  }
  for (const std::string& folder : idle_state_folders(process_environment)) {
    if (source.where != "in the store " + folder + "/store")
      text += "; another store is read with --store " + producer::shell_quoted(folder);
  }
  return Error{ErrorKind::not_found, printable(text)};
}

Error no_such_job(Source& source, const std::string& run, const std::string& label) {
  bool any = false;
  std::string meant;
  const auto visited = each_row(source, run, [&](const RunRow& row) {
    any = true;
    const std::string& known = row.entry.submission.label;
    if (meant.empty() && (known.ends_with("/" + label) || known.starts_with(label + "/"))) meant = known;
    return Expected<void>();
  });
  if (!visited) return visited.error();
  if (!any) return no_such_run(source, run);
  return Error{ErrorKind::not_found, "run '" + printable(run) + "' has no job '" + printable(label) + "'" +
                                         (meant.empty() ? "" : "; did you mean " + printable(meant) + "?") +
                                         "; kq results " + producer::shell_quoted(printable(run)) + " lists its jobs"};
}

void add_flags(Flags& flags, SourceOptions& options) {
  flags.group("Where the rows are read from");
  flags.option(
      "--broker", "URL",
      "URL of the broker to read from (default: $KQ_BROKER, else the broker of kq up or of a running kq sweep, "
      "else " +
          std::string(net::kDefaultBrokerUrl) + ")",
      options.broker);
  flags.option("--key", "FILE", "your key file, for a broker that requires keys", options.key, "KQ_KEY");
  flags.option("--store,--state", "DIR",
               "read this store instead, or that of a state folder; its broker may be stopped (default: $KQ_STORE, or "
               "that of the last kq up or kq sweep where no broker runs)",
               options.store);
}

Expected<OpenSource> open_source(const SourceOptions& options, const OpenStore& open_store) {
  SourceOptions found = options;
  if (found.store.empty() && found.broker.empty()) {
    Place place = default_place({.environment = process_environment, .is_listening = is_listening});
    const auto usual = default_state_folder(process_environment);
    if (!place.state_folder.empty() && usual && place.state_folder != *usual)
      std::cerr << "kq: the rows are those of the last kq up, in " << printable(place.store) << '\n';
    found.store = std::move(place.store);  // without one, the client finds the broker by the same rule
  }
  if (found.store.empty()) return open_broker(found);
  Expected<std::unique_ptr<store::Store>> store = open_store(store_in(found.store));
  if (!store) return failure(store.error());
  OpenSource open{.client = nullptr, .source = store_source(std::move(*store)), .place = found.store};
  open.source->where = "in the store " + store_in(found.store);
  return open;
}

}  // namespace kq::tools
