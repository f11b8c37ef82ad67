// The routes of runs: their list, their progress and their results.
#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "core/limits.h"
#include "producer/client/wait.h"
#include "producer/gateway/rest/rest.h"
#include "producer/gateway/rest/values.h"
#include "producer/gateway/service.h"
#include "sys/clock.h"
#include "tools/table/csv.h"
#include "tools/table/selection.h"

namespace kq::gateway {
namespace {

using producer::Json;
using producer::JsonArray;
using producer::WaitList;

constexpr std::string_view kFinishedId = "finished";  // the id of the last event
constexpr std::size_t kPieceBytes = 32u << 10;        // rows are sent in pieces of about this size

Error no_run(const std::string& run) {
  return {ErrorKind::not_found, "there is no run '" + run + "'"};
}

// Returns the name after which a page begins; empty: the first page.
Expected<std::string> after_of(const Request& request) {
  const std::string after = request.query_value("after").value_or("");
  if (after.empty()) return after;
  if (const auto wrong = name_error(after)) return bad_input("after " + *wrong + "; it is `next` of the page before");
  return after;
}

// Reads the states of all jobs of a run.
Expected<WaitList> states_of(const Request& request, Service& service, const std::string& run) {
  WaitList list;
  RunQuery query{.run = run, .after_label = "", .limit = kQueryRowsMax};
  std::size_t count = 0;
  for (bool more = true; more;) {
    KQ_TRY_VALUE(const RunReply page, service.run_page(request.submitter, query));
    for (const RunRow& row : page.rows) {
      if (++count > kProgressJobsMax)
        return bad_input("the run has more than " + std::to_string(kProgressJobsMax) +
                         " jobs, the most whose progress is counted here; read its results instead");
      list.add({row.entry.seq, row.job.needs});
    }
    for (const RunRow& row : page.rows) {
      list.update({.seq = row.entry.seq,
                   .state = row.job.state,
                   .attempt = row.job.attempt,
                   .verdict = row.result ? std::string(to_string(name_of(row.result->verdict))) : ""});
    }
    more = page.more && !page.rows.empty();
    if (!page.rows.empty()) query.after_label = page.rows.back().entry.submission.label;
  }
  if (count == 0) return failure(no_run(run));
  list.jobs();  // sorts and counts
  return list;
}

Json tally_json(const std::string& run, const producer::Tally& tally) {
  Object verdicts;
  for (const auto& [verdict, count] : tally.by_verdict) verdicts.add(verdict, count);
  Object object;
  object.add("run", run).add("jobs", tally.total).add("queued", tally.queued).add("running", tally.running);
  object.add("finished", tally.finished).add("passed", tally.passed()).add("verdicts", verdicts.json());
  return object.json();
}

std::vector<Sequence> open_jobs(WaitList& list) {
  std::vector<Sequence> open;
  for (const WaitList::Job& job : list.jobs()) {
    if (job.standing != WaitList::Standing::finished) open.push_back(job.seq);
    if (open.size() == kQuerySeqsMax) break;
  }
  return open;
}

// Sends an event for each change of the tally until all jobs are finished.
bool send_events(const Request& request, Service& service, const std::string& run, WaitList& list, const Write& write) {
  const std::int64_t end_ms = sys::monotonic_now_ms() + kEventsSecondsMax * 1'000;
  std::string last;
  std::int64_t sent_ms = 0;
  while (sys::monotonic_now_ms() < end_ms) {
    const std::string now = producer::to_text(tally_json(run, list.tally()));
    const bool is_finished = list.open_count() == 0;
    if (now != last || is_finished) {
      const std::string kind =
          is_finished ? "id: " + std::string(kFinishedId) + "\nevent: finished" : "event: progress";
      if (!write(kind + "\ndata: " + now + "\n\n")) return false;
      last = now;
      sent_ms = sys::monotonic_now_ms();
    } else if (sys::monotonic_now_ms() - sent_ms >= kEventsKeepAliveMs) {
      if (!write(": the run goes on\n\n")) return false;
      sent_ms = sys::monotonic_now_ms();
    }
    if (is_finished) return true;
    const std::vector<Sequence> open = open_jobs(list);
    const auto states = service.wait_any(open, producer::kAnswerWaitMs, request.is_abandoned);
    if (!states) {
      write("event: error\ndata: " + producer::json_quoted(states.error().message) + "\n\n");
      return true;
    }
    if (states->size() < open.size()) {  // a job was removed by the broker's retention
      write("event: error\ndata: \"jobs of the run were removed while it was watched\"\n\n");
      return true;
    }
    for (const JobStatus& status : *states) list.update(status);
  }
  return true;
}

enum class Format { json, jsonl, csv };

std::optional<Format> format_of_type(std::string_view type) {
  if (type == "text/csv") return Format::csv;
  if (type.find("jsonl") != std::string_view::npos || type.find("ndjson") != std::string_view::npos)
    return Format::jsonl;
  if (type == "application/json" || type == "*/*") return Format::json;
  return std::nullopt;
}

// Returns the format that a header field Accept wants most: "text/csv;q=0.5, application/json" is JSON.
Format accepted_format(std::string_view accept) {
  Format wanted = Format::json;
  double weight_of_wanted = 0;
  while (!accept.empty()) {
    const std::string_view one = accept.substr(0, accept.find(','));
    accept.remove_prefix(std::min(one.size() + 1, accept.size()));
    const std::size_t begin = std::min(one.find_first_not_of(' '), one.size());
    const auto format = format_of_type(one.substr(begin, one.find_first_of("; ", begin) - begin));
    double weight = 1;
    if (const std::size_t at = one.find("q="); at != std::string_view::npos)
      std::from_chars(one.data() + at + 2, one.data() + one.size(), weight);
    if (!format || weight <= weight_of_wanted) continue;
    wanted = *format;
    weight_of_wanted = weight;
  }
  return wanted;
}

// Chooses the format by ?format=, else by the header field Accept.
Expected<Format> format_of(const Request& request) {
  const auto given = request.query_value("format");
  if (!given) return accepted_format(request.header("accept").value_or(""));
  if (given == "json") return Format::json;
  if (given == "jsonl") return Format::jsonl;
  if (given == "csv") return Format::csv;
  return bad_input("format must be json, jsonl or csv, got '" + *given + "'");
}

Expected<tools::Selection> selection_of(const Request& request, const Service& service) {
  tools::SelectionOptions options;
  options.level = request.query_value("level").value_or("job");
  options.columns = request.query_value("columns").value_or("");
  options.where = request.query_values("where");
  options.since = request.query_value("since").value_or("");
  auto selection = tools::Selection::make(options, service.now_ms());
  // The sentence names the option of kq-dump, which is the parameter's name with two dashes before it.
  if (!selection && selection.error().message.starts_with("--")) return bad_input(selection.error().message.substr(2));
  return selection;
}

void append_json_row(const tools::Selection& selection, std::span<const tools::Cell> cells, std::string& text) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    text += (i == 0 ? "{" : ", ") + producer::json_quoted(selection.columns()[i].name()) + ": ";
    tools::append_json(cells[i], text);
  }
  text += '}';
}

std::string csv_head(const tools::Selection& selection) {
  std::vector<tools::Cell> names;
  for (const tools::SelectedColumn& column : selection.columns()) names.emplace_back(std::string(column.name()));
  return tools::csv_line(names);
}

// Sends all rows, page by page. `page` is the first one.
bool send_rows(const Request& request, Service& service, const tools::Selection& selection, Format format,
               RunQuery query, RunReply page, const Write& write) {
  std::string text = format == Format::csv ? csv_head(selection) : "";
  const auto add = [&](std::span<const tools::Cell> cells) -> Expected<void> {
    if (format == Format::csv) {
      text += tools::csv_line(cells);
    } else {
      append_json_row(selection, cells, text);
      text += '\n';
    }
    return {};
  };
  for (;;) {
    for (const RunRow& row : page.rows) {
      if (selection.matches(row) && !selection.each(row, add)) return false;
      if (text.size() < kPieceBytes) continue;
      if (!write(text)) return false;
      text.clear();
    }
    if (!page.more || page.rows.empty()) return text.empty() || write(text);
    query.after_label = page.rows.back().entry.submission.label;
    auto next = service.run_page(request.submitter, query);
    if (!next) return false;
    page = std::move(*next);
  }
}

// One page as a JSON object: {"run", "rows": [...], "next": LABEL or null}.
Response page_of_rows(const tools::Selection& selection, const std::string& run, const RunReply& page) {
  std::string rows;
  const auto add = [&](std::span<const tools::Cell> cells) -> Expected<void> {
    rows += rows.empty() ? "" : ", ";
    append_json_row(selection, cells, rows);
    return {};
  };
  for (const RunRow& row : page.rows) {
    if (selection.matches(row)) (void)selection.each(row, add);
  }
  const bool has_next = page.more && !page.rows.empty();
  const std::string next = has_next ? producer::json_quoted(page.rows.back().entry.submission.label) : "null";
  return {.status = 200,
          .type = "application/json",
          .body = "{\"run\": " + producer::json_quoted(run) + ", \"rows\": [" + rows + "], \"next\": " + next + "}\n"};
}

}  // namespace

Response get_runs(const Request& request, Service& service) {
  const auto limit = page_limit(request);
  if (!limit) return problem_of(limit.error(), request);
  const auto after = after_of(request);
  if (!after) return problem_of(after.error(), request);
  const auto reply = service.runs(request.submitter, {.after = *after, .limit = *limit});
  if (!reply) return problem_of(reply.error(), request);
  JsonArray runs;
  for (const KnownRun& run : reply->runs) {
    Object object;
    object.add("run", run.run).add("submitter", run.submitter).add("submitted_at", time_json(run.submitted_at_ms));
    runs.push_back(object.json());
  }
  Object body;
  body.add("runs", Json{std::move(runs)});
  body.add("next", reply->more && !reply->runs.empty() ? Json{reply->runs.back().run} : Json{nullptr});
  return json_response(200, body.json());
}

Response get_run(const Request& request, Service& service) {
  const std::string& run = request.path_values.at("run");
  const auto list = states_of(request, service, run);
  if (!list) return problem_of(list.error(), request);
  return json_response(200, tally_json(run, list->tally()));
}

Response get_run_results(const Request& request, Service& service) {
  const std::string& run = request.path_values.at("run");
  const auto format = format_of(request);
  if (!format) return problem_of(format.error(), request);
  const auto limit = page_limit(request);
  if (!limit) return problem_of(limit.error(), request);
  const auto after = after_of(request);
  if (!after) return problem_of(after.error(), request);
  auto selection = selection_of(request, service);
  if (!selection) return problem_of(selection.error(), request);
  const RunQuery query{.run = run, .after_label = *after, .limit = *limit, .with_samples = selection->needs_samples()};
  auto page = service.run_page(request.submitter, query);
  if (!page) return problem_of(page.error(), request);
  if (page->rows.empty()) {
    const auto first = service.run_page(request.submitter, {.run = run, .after_label = "", .limit = 1});
    if (!first) return problem_of(first.error(), request);
    if (first->rows.empty()) return problem_of(no_run(run), request);
  }
  if (*format == Format::json) return page_of_rows(*selection, run, *page);
  Response response{.status = 200, .type = *format == Format::csv ? "text/csv; charset=utf-8" : "application/jsonl"};
  response.stream = [&service, request, selection = std::make_shared<tools::Selection>(std::move(*selection)),
                     format = *format, query, page = std::make_shared<RunReply>(std::move(*page))](const Write& write) {
    return send_rows(request, service, *selection, format, query, std::move(*page), write);
  };
  return response;
}

Response get_run_events(const Request& request, Service& service) {
  const std::string& run = request.path_values.at("run");
  auto list = states_of(request, service, run);
  if (!list) return problem_of(list.error(), request);
  // A browser connects again after every stream, and names the last event. 204 tells it that no further event comes.
  if (list->open_count() == 0 && request.header("last-event-id") == kFinishedId) return {.status = 204, .type = ""};
  Response response{.status = 200, .type = "text/event-stream"};
  response.stream = [&service, request, run, list = std::make_shared<WaitList>(std::move(*list))](const Write& write) {
    return send_events(request, service, run, *list, write);
  };
  return response;
}

}  // namespace kq::gateway
