#include "producer/gateway/live/live_routes.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "core/limits.h"
#include "producer/gateway/live/overview.h"
#include "producer/gateway/rest/rest.h"
#include "producer/gateway/rest/values.h"
#include "producer/gateway/service.h"
#include "sys/clock.h"
#include "tools/report/jobs/job_details.h"

namespace kq::gateway {
namespace {

using producer::FoundJob;
using producer::FoundJobs;
using producer::Json;
using producer::JsonArray;

std::shared_ptr<View> view_of(const Request& request, const Service& service, Overviews& views) {
  return views.of(request.submitter, service.now_ms());
}

Expected<std::size_t> limit_of(const Request& request) {
  const auto limit = whole_number(request.query_value("limit").value_or(std::to_string(kPageRowsMax)), 1, kPageRowsMax);
  if (!limit) return bad_input("limit must be a whole number from 1 to " + std::to_string(kPageRowsMax));
  return static_cast<std::size_t>(*limit);
}

Expected<std::string> text_of(const Request& request, const std::string& name) {
  std::string text = request.query_value(name).value_or("");
  if (text.size() > kSearchBytesMax)
    return bad_input(name + " has " + std::to_string(text.size()) + " bytes, at most " +
                     std::to_string(kSearchBytesMax) + " are allowed");
  return text;
}

// Puts the time of the answer and the rights of its reader before the members of an overview.
std::string overview_text(const std::string& members, const Request& request, const Service& service) {
  Object viewer;
  viewer.add("submitter", request.submitter.name).add("is_operator", request.submitter.is_operator);
  return "{\"now\": " + producer::to_text(time_json(service.now_ms())) +
         ", \"viewer\": " + producer::to_text(viewer.json()) + ", " + members + "}";
}

Response get_overview(const Request& request, Service& service, Overviews& views) {
  const auto text = view_of(request, service, views)->text(service);
  if (!text) return problem_of(text.error(), request);
  return {.status = 200, .type = "application/json", .body = overview_text(*text, request, service) + "\n"};
}

// Waits before the next event. Returns false where the stream shall end.
bool pause_stream(const Request& request, const Service& service) {
  for (std::int64_t ms = 0; ms < kOverviewEventMs; ms += kStopCheckMs) {
    if (service.is_stopping() || request.is_abandoned()) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(kStopCheckMs));
  }
  return !service.is_stopping() && !request.is_abandoned();
}

bool send_overviews(const Request& request, Service& service, Overviews& views, const Write& write) {
  const std::int64_t end_ms = sys::monotonic_now_ms() + kOverviewStreamMs;
  std::string last;
  std::int64_t sent_ms = 0;
  while (sys::monotonic_now_ms() < end_ms) {
    const auto text = view_of(request, service, views)->text(service);
    std::string event;
    if (!text && text.error().message != last) {
      event = "event: error\ndata: " + producer::json_quoted(text.error().message) + "\n\n";
    } else if (text && *text != last) {
      event = "event: overview\ndata: " + overview_text(*text, request, service) + "\n\n";
    } else if (sys::monotonic_now_ms() - sent_ms >= kOverviewKeepAliveMs) {
      event = ": nothing has changed\n\n";
    }
    if (!event.empty()) {
      if (!write(event)) return false;
      sent_ms = sys::monotonic_now_ms();
      last = text ? *text : text.error().message;
    }
    if (!pause_stream(request, service)) return true;
  }
  return true;
}

Response get_overview_events(const Request& request, Service& service, const std::shared_ptr<Overviews>& views) {
  Response response{.status = 200, .type = "text/event-stream"};
  response.stream = [&service, request, views](const Write& write) {
    return send_overviews(request, service, *views, write);
  };
  return response;
}

Response get_workers(const Request& request, Service& service, Overviews& views) {
  const auto limit = limit_of(request);
  if (!limit) return problem_of(limit.error(), request);
  const auto text = text_of(request, "q");
  if (!text) return problem_of(text.error(), request);
  const auto page =
      view_of(request, service, views)->workers(service, *text, request.query_value("after").value_or(""), *limit);
  if (!page) return problem_of(page.error(), request);
  return json_response(200, *page);
}

Json found_json(const FoundJobs& found) {
  JsonArray jobs;
  for (const FoundJob& one : found.jobs) {
    Object object;
    object.add("id", JobId{.seq = one.job.seq, .run = one.run, .label = one.job.label}.text());
    object.add("job", one.job.seq).add("run", one.run).add("label", one.job.label);
    object.add("state", to_string(one.job.state));
    const bool is_finished = one.job.state == JobState::finished;
    object.add("verdict", is_finished ? Json{std::string(to_string(one.job.verdict))} : Json{nullptr});
    jobs.push_back(object.json());
  }
  Object body;
  body.add("jobs", Json{std::move(jobs)}).add("count", found.total_count).add("is_whole", found.is_whole);
  body.add("next", found.next.empty() ? Json{nullptr} : Json{found.next});
  return body.json();
}

Response get_run_jobs(const Request& request, Service& service, Overviews& views) {
  const auto limit = limit_of(request);
  if (!limit) return problem_of(limit.error(), request);
  const auto text = text_of(request, "q");
  if (!text) return problem_of(text.error(), request);
  const std::string outcome = request.query_value("outcome").value_or("");
  const bool is_known =
      outcome.empty() || outcome == "failed" || parse_enum<JobState>(outcome) || parse_enum<VerdictName>(outcome);
  if (!is_known) return problem(400, "outcome must be a verdict, queued, leased, finished or failed", request);
  const auto found =
      view_of(request, service, views)
          ->find(
              service, request.path_values.at("run"),
              {.text = *text, .outcome = outcome, .after = request.query_value("after").value_or(""), .limit = *limit});
  if (!found) return problem_of(found.error(), request);
  return json_response(200, found_json(*found));
}

// Adds the job with this number, where there is one and the submitter may see it.
Expected<void> add_numbered(const Request& request, Service& service, Sequence seq, FoundJobs& found) {
  const Sequence seqs[] = {seq};
  KQ_TRY_VALUE(const std::vector<JobStatus> states, service.wait_any(seqs, 0, {}));
  if (states.empty()) return {};
  KQ_TRY_VALUE(const VisibleJobs page,
               service.visible_jobs(request.submitter, {.state = states[0].state, .after_seq = seq - 1, .limit = 1}));
  for (const JobRow& row : page.reply.jobs) {
    if (row.job.seq != seq) continue;
    const VerdictName verdict = parse_enum<VerdictName>(states[0].verdict).value_or(VerdictName::abandoned);
    found.jobs.insert(
        found.jobs.begin(),
        {.run = row.job.run, .job = {.seq = seq, .state = row.job.state, .verdict = verdict, .label = row.label}});
    ++found.total_count;
  }
  return {};
}

Response get_search(const Request& request, Service& service, Overviews& views) {
  const auto text = text_of(request, "q");
  if (!text) return problem_of(text.error(), request);
  if (text->empty()) return problem(400, "q must be a part of a label, or the number or id of a job", request);
  FoundJobs found;
  if (const auto id = JobId::parse(*text)) {
    if (const auto row = service.find(request.submitter, *id)) {
      const VerdictName verdict = row->result ? name_of(row->result->verdict) : VerdictName::abandoned;
      found.jobs.push_back(
          {.run = id->run, .job = {.seq = id->seq, .state = row->job.state, .verdict = verdict, .label = id->label}});
      found.total_count = 1;
      return json_response(200, found_json(found));
    }
  }
  auto by_label = view_of(request, service, views)->find(service, "", {.text = *text});
  if (!by_label) return problem_of(by_label.error(), request);
  const auto number = whole_number(*text, 1, std::numeric_limits<std::int64_t>::max());
  if (number) {
    const auto added = add_numbered(request, service, static_cast<Sequence>(*number), *by_label);
    if (!added) return problem_of(added.error(), request);
  }
  return json_response(200, found_json(*by_label));
}

// Everything that a report has of a job, in the same form.
Response get_job_details(const Request& request, Service& service) {
  const auto id = JobId::parse(request.path_values.at("id"));
  if (!id) return problem_of(id.error(), request);
  const auto row = service.find(request.submitter, *id, true);
  if (!row) return problem_of(row.error(), request);
  tools::JobGroup group;
  // A source that this reader may not read, or that is not kept any more, is left out.
  const tools::ReadSource read = [&](const RunRow&, const Hash& hash) -> Expected<std::optional<std::string>> {
    const auto file = service.file(request.submitter, *id, hash);
    return file ? std::optional(std::string(file->bytes.view())) : std::nullopt;
  };
  if (const auto added = group.add(*row, read); !added) return problem_of(added.error(), request);
  return {.status = 200, .type = "application/json", .body = group.json() + "\n"};
}

// Cancels the unfinished jobs of a run, as DELETE does for one job.
Response post_cancel_run(const Request& request, Service& service) {
  const std::string& run = request.path_values.at("run");
  RunQuery query{.run = run, .after_label = "", .limit = kQueryRowsMax};
  std::size_t asked = 0, cancelled = 0;
  bool is_known = false, has_more = false;
  for (bool more = true; more && !has_more;) {
    const auto page = service.run_page(request.submitter, query);
    if (!page) return problem_of(page.error(), request);
    for (const RunRow& row : page->rows) {
      is_known = true;
      query.after_label = row.entry.submission.label;
      if (row.job.state == JobState::finished) continue;
      has_more = asked == kCancelledJobsMax;
      if (has_more) break;
      ++asked;
      const auto action =
          service.cancel(request.submitter, {.seq = row.entry.seq, .run = run, .label = query.after_label});
      if (!action && action.error().kind != ErrorKind::not_found) return problem_of(action.error(), request);
      cancelled += action && action->done ? 1 : 0;
    }
    more = page->more && !page->rows.empty();
  }
  if (!is_known) return problem(404, "there is no run '" + run + "'", request);
  Object answer;
  answer.add("run", run).add("cancelled", cancelled).add("kept", asked - cancelled);
  answer.add("has_more", has_more);
  return json_response(200, answer.json());
}

// ---- what operators may do ------------------------------------------------------------------------------------------

// Returns the JSON object in the body; an empty body is an empty object.
Expected<Json> body_of(const Request& request) {
  if (request.body.empty()) return Json{producer::JsonObject{}};
  auto json = producer::parse_json(request.body);
  if (!json) return bad_input("the body: " + json.error().message);
  if (json->object() == nullptr) return bad_input("the body must be a JSON object");
  return json;
}

Expected<bool> flag_of(const Json& body, std::string_view name) {
  const Json* value = body.find(name);
  if (value == nullptr || value->boolean() == nullptr)
    return bad_input("the body must have the member \"" + std::string(name) + "\", which is true or false");
  return *value->boolean();
}

Response post_retry(const Request& request, Service& service) {
  const auto id = JobId::parse(request.path_values.at("id"));
  if (!id) return problem_of(id.error(), request);
  const auto row = service.find(request.submitter, *id, false);
  if (!row) return problem_of(row.error(), request);
  const auto action = service.retry(id->seq);
  if (!action) return problem_of(action.error(), request);
  if (!action->done) return problem(409, action->reason, request);
  Object job;
  job.add("id", id->text()).add("job", id->seq).add("state", to_string(action->state));
  return json_response(200, job.json());
}

Response post_pause(const Request& request, Service& service) {
  const auto body = body_of(request);
  if (!body) return problem_of(body.error(), request);
  const auto paused = flag_of(*body, "paused");
  if (!paused) return problem_of(paused.error(), request);
  const Json* submitter = body->find("submitter");
  if (submitter != nullptr && submitter->text() == nullptr)
    return problem(400, "the member \"submitter\" must be a text", request);
  const Pause pause{.submitter = submitter == nullptr ? "" : *submitter->text(), .paused = *paused};
  if (const auto done = service.pause(pause); !done) return problem_of(done.error(), request);
  Object answer;
  answer.add("submitter", pause.submitter).add("paused", pause.paused);
  return json_response(200, answer.json());
}

Response post_drain(const Request& request, Service& service) {
  const std::string& name = request.path_values.at("worker");
  const auto body = body_of(request);
  if (!body) return problem_of(body.error(), request);
  const auto draining = flag_of(*body, "draining");
  if (!draining) return problem_of(draining.error(), request);
  const auto broker = service.broker();
  if (!broker) return problem_of(broker.error(), request);
  // An unknown name is probably a mistake, but a drain may be undone after its worker has left.
  const bool is_connected =
      std::ranges::any_of(broker->workers, [&](const WorkerStatus& worker) { return worker.worker == name; });
  if (!is_connected && *draining) return problem(404, "no worker '" + name + "' is connected", request);
  if (const auto done = service.drain({.worker = name, .draining = *draining}); !done)
    return problem_of(done.error(), request);
  Object answer;
  answer.add("worker", name).add("draining", *draining);
  return json_response(200, answer.json());
}

Response get_page(const std::string& page) {
  if (page.empty()) return {.status = 303, .type = "", .headers = {{"Location", "/docs"}}};
  return {.status = 200,
          .type = "text/html; charset=utf-8",
          .body = page,
          // The page itself names what it may load. Only a header field can forbid frames.
          .headers = {{"Content-Security-Policy", "frame-ancestors 'none'"}, {"Referrer-Policy", "no-referrer"}}};
}

}  // namespace

Routes live_routes(std::string page) {
  const auto views = std::make_shared<Overviews>();
  const auto with_views = [&](Response (*handler)(const Request&, Service&, Overviews&)) {
    return [handler, views](const Request& request, Service& service) { return handler(request, service, *views); };
  };
  // The page sends the text of its search and the start of its list even where they are empty.
  const QueryParameter q{.name = "q", .may_be_empty = true}, after{.name = "after", .may_be_empty = true};
  return {
      {.method = "GET",
       .path = "/",
       .access = Access::anyone,
       .handler = [page = std::move(page)](const Request&, Service&) { return get_page(page); },
       .takes_any_parameter = true},
      {.method = "GET", .path = "/api/v1/overview", .handler = with_views(get_overview)},
      {.method = "GET",
       .path = "/api/v1/overview/events",
       .handler = [views](const Request& request,
                          Service& service) { return get_overview_events(request, service, views); },
       .waits = true},
      {.method = "GET",
       .path = "/api/v1/workers",
       .handler = with_views(get_workers),
       .parameters = {q, after, {"limit"}}},
      {.method = "GET",
       .path = "/api/v1/runs/{run}/jobs",
       .handler = with_views(get_run_jobs),
       .parameters = {q, {.name = "outcome", .may_be_empty = true}, after, {"limit"}}},
      {.method = "POST", .path = "/api/v1/runs/{run}/cancel", .handler = post_cancel_run},
      {.method = "GET", .path = "/api/v1/search", .handler = with_views(get_search), .parameters = {q}},
      {.method = "GET", .path = "/api/v1/jobs/{id}/details", .handler = get_job_details},
      {.method = "POST", .path = "/api/v1/jobs/{id}/retry", .access = Access::operators, .handler = post_retry},
      {.method = "POST", .path = "/api/v1/pause", .access = Access::operators, .handler = post_pause},
      {.method = "POST", .path = "/api/v1/workers/{worker}/drain", .access = Access::operators, .handler = post_drain},
  };
}

}  // namespace kq::gateway
