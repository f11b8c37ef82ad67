// POST /api/v1/jobs.
//
// The broker accepts equal work once, so a request that is sent again does no harm. An Idempotency-Key adds that the
// repeated request gets the same ids, whatever run it would be given, and that another request under the same key is
// refused. Requests are compared by the jobs that they describe, since a form has another boundary each time. Nothing
// is kept here: the key decides the name of the run, and each job carries the hashes of key and request as tags. Where
// the client names the run, the earlier request is found by the label of the first job, or among the first jobs of the
// run; another request under the same key in a long run may be taken.
#include <algorithm>
#include <map>
#include <utility>

#include "core/bytes/hash.h"
#include "core/limits.h"
#include "producer/client/label_order.h"
#include "producer/gateway/rest/rest.h"
#include "producer/gateway/rest/submission_body.h"
#include "producer/gateway/rest/values.h"
#include "producer/gateway/service.h"

namespace kq::gateway {
namespace {

using producer::Json;
using producer::JsonArray;

constexpr std::size_t kShortHashDigits = 16;
constexpr std::string_view kKeyTag = "idempotency_key";
constexpr std::string_view kRequestTag = "idempotency_request";

std::string short_hash(std::string_view text) {
  return to_hex(sha256(text)).substr(0, kShortHashDigits);
}

// The hashes of a request with an Idempotency-Key.
struct Idempotency {
  std::string key;
  std::string request;  // empty until the body is read
};

// What the client asked for beside the body.
struct Wishes {
  std::string run;
  bool force_rerun = false;
  std::optional<Idempotency> idempotency;
};

Expected<bool> flag(const Request& request, const std::string& name) {
  const std::string value = request.query_value(name).value_or("false");
  if (value == "true" || value == "1" || value.empty()) return true;
  if (value == "false" || value == "0") return false;
  return bad_input(name + " must be true or false, got '" + value + "'");
}

Expected<Wishes> wishes_of(const Request& request) {
  Wishes wishes;
  KQ_TRY_VALUE(wishes.force_rerun, flag(request, "force_rerun"));
  wishes.run = request.query_value("run").value_or("");
  if (const auto key = request.header("idempotency-key")) {
    if (key->empty() || key->size() > kIdempotencyKeyBytesMax)
      return bad_input("the Idempotency-Key must have 1 to " + std::to_string(kIdempotencyKeyBytesMax) + " bytes");
    wishes.idempotency = {.key = short_hash(*key), .request = ""};
  }
  return wishes;
}

// Completes the wishes by what the body says: `lines` are its jobs.
void identify(Wishes& wishes, const std::string& lines, const Service& service) {
  if (wishes.idempotency) {
    const std::string asked = wishes.run + '\0' + (wishes.force_rerun ? "1" : "0") + lines;
    wishes.idempotency->request = short_hash(asked);
  }
  if (wishes.run.empty())
    wishes.run = wishes.idempotency ? "key-" + wishes.idempotency->key : "http-" + service.random_name();
}

// Adds what the wishes say to every job.
void apply(const Wishes& wishes, const Service& service, std::vector<producer::PackedJob>& jobs) {
  const std::string salt = !wishes.force_rerun  ? ""
                           : wishes.idempotency ? "key-" + wishes.idempotency->key
                                                : service.random_name();
  for (producer::PackedJob& job : jobs) {
    job.submission.salt = salt;
    if (!wishes.idempotency || job.submission.tags.size() + 2 > kTagsMax) continue;
    job.submission.tags[std::string(kKeyTag)] = wishes.idempotency->key;
    job.submission.tags[std::string(kRequestTag)] = wishes.idempotency->request;
  }
}

enum class Earlier { none, same, other };

// Looks for an earlier request with the key, whose jobs have it among their tags.
Expected<Earlier> earlier_request(const Request& request, Service& service, const Wishes& wishes,
                                  const std::string& first_label) {
  if (!wishes.idempotency) return Earlier::none;
  const RunQuery first_job{.run = wishes.run, .after_label = producer::before_label(first_label), .limit = 1};
  const RunQuery first_page{.run = wishes.run, .after_label = "", .limit = kQueryRowsMax};
  for (const RunQuery& query : {first_job, first_page}) {
    KQ_TRY_VALUE(const RunReply page, service.run_page(request.submitter, query));
    for (const RunRow& row : page.rows) {
      const auto& tags = row.entry.submission.tags;
      const auto key = tags.find(std::string(kKeyTag));
      if (key == tags.end() || key->second != wishes.idempotency->key) continue;
      const auto asked = tags.find(std::string(kRequestTag));
      return asked != tags.end() && asked->second == wishes.idempotency->request ? Earlier::same : Earlier::other;
    }
  }
  return Earlier::none;
}

Json answer_json(const SubmittedJob& job) {
  Object object;
  if (job.ack.seq != 0) object.add("id", job.id.text()).add("job", job.ack.seq);
  object.add("label", job.id.label).add("acceptance", to_string(job.ack.acceptance));
  if (job.ack.seq != 0) object.add("state", to_string(job.ack.state));
  if (!job.ack.reason.empty()) object.add("reason", job.ack.reason);
  return object.json();
}

// Returns the first kMistakesShown sentences.
Json sentences(const std::vector<std::string>& all) {
  JsonArray shown;
  for (std::size_t i = 0; i < std::min(all.size(), kMistakesShown); ++i) shown.push_back(Json{all[i]});
  return Json{std::move(shown)};
}

Response answer_of(const Wishes& wishes, const std::vector<SubmittedJob>& submitted,
                   const std::vector<std::string>& notes, const Request& request) {
  std::map<Acceptance, std::size_t> counts;
  JsonArray jobs;
  std::uint32_t retry_ms = 0;
  for (const SubmittedJob& job : submitted) {
    ++counts[job.ack.acceptance];
    retry_ms = std::max(retry_ms, job.ack.retry_after_ms);
    jobs.push_back(answer_json(job));
  }
  const std::size_t taken = counts[Acceptance::accepted] + counts[Acceptance::reused];
  // 201: some jobs are new. 200: all existed. 429: the broker or the quota has no room for any. 422: all are refused.
  const int status = counts[Acceptance::accepted] > 0 ? 201
                     : taken > 0                      ? 200
                     : counts[Acceptance::busy] > 0   ? 429
                                                      : 422;
  Object body;
  body.add("run", wishes.run);
  for (const Acceptance one : {Acceptance::accepted, Acceptance::reused, Acceptance::refused, Acceptance::busy})
    body.add(to_string(one), counts[one]);
  body.add("jobs", Json{std::move(jobs)});
  if (!notes.empty()) body.add("notes", sentences(notes));
  Json members = body.json();
  Response response =
      status < 400 ? json_response(status, members)
                   : problem(status, "no job was taken: " + submitted.front().ack.reason, request, *members.object());
  if (counts[Acceptance::busy] > 0)
    response.headers.emplace_back("Retry-After", std::to_string(std::max(1u, (retry_ms + 999) / 1'000)));
  return response;
}

Response mistakes_problem(const std::vector<std::string>& mistakes, const Request& request) {
  const std::string detail =
      mistakes.front() + (mistakes.size() > 1 ? "; and " + std::to_string(mistakes.size() - 1) + " more" : "");
  return problem(400, detail, request, {{"errors", sentences(mistakes)}});
}

}  // namespace

Response post_jobs(const Request& request, Service& service) {
  auto wishes = wishes_of(request);
  if (!wishes) return problem_of(wishes.error(), request);
  auto body = read_jobs(request, service.now_ms());
  if (!body) return problem_of(body.error(), request);
  if (!body->mistakes.empty()) return mistakes_problem(body->mistakes, request);
  if (body->jobs.empty()) return problem(400, "the body has no jobs", request);
  identify(*wishes, body->lines, service);
  const auto earlier = earlier_request(request, service, *wishes, body->jobs.front().submission.label);
  if (!earlier) return problem_of(earlier.error(), request);
  if (*earlier == Earlier::other)
    return problem(422, "this Idempotency-Key belongs to another request; a new request needs a new key", request);
  apply(*wishes, service, body->jobs);
  const auto submitted = service.submit(request.submitter, wishes->run, body->jobs);
  if (!submitted) return problem_of(submitted.error(), request);
  Response response = answer_of(*wishes, *submitted, body->notes, request);
  if (*earlier == Earlier::same) response.headers.emplace_back("Idempotency-Replayed", "true");
  return response;
}

}  // namespace kq::gateway
