#include "producer/gateway/popcorn/routes.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <functional>
#include <memory>
#include <utility>

#include "core/base/enum_names.h"
#include "core/limits.h"
#include "producer/formats/popcorn/problem_set.h"
#include "producer/gateway/popcorn/answer.h"
#include "producer/gateway/popcorn/job.h"
#include "producer/gateway/rest/multipart.h"
#include "producer/gateway/rest/values.h"
#include "producer/gateway/service.h"

namespace kq::gateway::popcorn {
namespace {

using producer::Json;
using producer::JsonArray;
using producer::popcorn::ProblemSet;
using Boards = std::shared_ptr<const std::vector<Board>>;

constexpr std::string_view kCliId = "x-popcorn-cli-id";
constexpr std::size_t kCliIdBytesMax = 200;
constexpr std::size_t kUserDigits = 12;
constexpr std::size_t kLabelDigits = 16;

std::string lower(std::string_view text) {
  std::string low(text);
  for (char& c : low) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return low;
}

constexpr const char* kNeedsToken = "this gateway needs a token: write \"cli_id: TOKEN\" into ~/.popcorn.yaml";

Response frame_error(int status, const std::string& error, const Request&) {
  return error_answer(status, status == 401 ? kNeedsToken : error);
}

// A user of these routes, and the run that has the user's submissions.
struct User {
  std::string name;
  std::string run;
};

// Returns the user of a request. Fails with bad_input where it names none.
Expected<User> user_of(const Request& request) {
  if (!request.submitter.name.empty()) return User{request.submitter.name, "popcorn"};
  const std::string id = request.header(std::string(kCliId)).value_or("");
  if (id.empty() || id.size() > kCliIdBytesMax)
    return bad_input("the header field X-Popcorn-Cli-Id names no client; popcorn-cli register discord makes an id");
  const std::string name = "cli-" + to_hex(sha256(id)).substr(0, kUserDigits);
  return User{name, "popcorn-" + name};
}

// Gives out numbers of submissions that grow with time. Within a millisecond they begin at a random number, so that two
// gateways seldom give out the same one.
class Numbers {
 public:
  std::int64_t next(std::int64_t now_ms, std::string_view random) {
    const auto start = static_cast<std::int64_t>(std::hash<std::string_view>{}(random) % kSubmissionsPerMs);
    std::int64_t last = last_;
    std::int64_t number = 0;
    do {
      number = std::max(last + 1, now_ms * kSubmissionsPerMs + start);
    } while (!last_.compare_exchange_weak(last, number));
    return number;
  }

 private:
  std::atomic<std::int64_t> last_ = 0;
};

// What all handlers of a gateway share.
struct Shared {
  ProblemSet* problems = nullptr;
  Numbers numbers{};

  Expected<Boards> boards() const {
    if (problems == nullptr)
      return failure({ErrorKind::not_found, "this gateway has no leaderboards: it was started without --popcorn"});
    return problems->boards();
  }
};

Expected<const Board*> board_of(const std::vector<Board>& boards, const std::string& name) {
  if (const Board* board = find_board(boards, name)) return board;
  return failure({ErrorKind::not_found, "there is no leaderboard " + name + "; GET /leaderboards lists them"});
}

JsonArray names_of(const std::vector<Gpu>& gpus) {
  JsonArray names;
  for (const Gpu& gpu : gpus) names.push_back(Json{gpu.name});
  return names;
}

// Returns the device of a name. Fails with a sentence that lists those that there are.
Expected<Gpu> gpu_of(Service& service, const std::string& name) {
  KQ_TRY_VALUE(const BrokerReply broker, service.broker());
  const std::vector<Gpu> gpus = gpus_of(broker);
  std::string names;
  for (const Gpu& gpu : gpus) {
    if (lower(gpu.name) == lower(name)) return gpu;
    names += (names.empty() ? "" : ", ") + gpu.name;
  }
  return bad_input("no connected worker has a GPU " + name + "; " +
                   (names.empty() ? "there is no worker" : "there are " + names));
}

Json task_json(const Board& board) {
  Object task;
  task.add("lang", board.lang).add("ranking_by", to_string(board.ranking)).add("multi_gpu", board.is_multi_gpu);
  task.add("tests", Json{JsonArray(board.tests.begin(), board.tests.end())});
  task.add("benchmarks", Json{JsonArray(board.benchmarks.begin(), board.benchmarks.end())});
  task.add("test_timeout", board.test_s).add("benchmark_timeout", board.benchmark_s);
  task.add("ranked_timeout", board.ranked_s);
  return task.json();
}

Response list_boards(Shared& state, Service& service) {
  const auto boards = state.boards();
  if (!boards) return error_answer(boards.error());
  const auto broker = service.broker();
  if (!broker) return error_answer(broker.error());
  JsonArray list;
  for (const Board& board : **boards) {
    Object one;
    one.add("id", board.id).add("name", board.name).add("deadline", board.deadline).add("task", task_json(board));
    one.add("gpu_types", Json{names_of(gpus_of(*broker))}).add("creator_id", -1).add("forum_id", -1);
    one.add("description", board.mistake.empty() ? board.description : board.mistake).add("visibility", "public");
    list.push_back(one.json());
  }
  return json_response(200, Json{std::move(list)});
}

Response list_gpus(const Request& request, Shared& state, Service& service) {
  const auto boards = state.boards();
  if (!boards) return error_answer(boards.error());
  const auto board = board_of(**boards, request.path_values.at("board"));
  if (!board) return error_answer(board.error());
  const auto broker = service.broker();
  if (!broker) return error_answer(broker.error());
  return json_response(200, Json{names_of(gpus_of(*broker))});
}

// Without tokens every id is a client's; clients keep the one that they are given here.
Response give_id(Service& service, bool needs_token) {
  if (needs_token) return error_answer(403, kNeedsToken);
  Object body;
  body.add("state", service.random_name());
  return json_response(200, body.json());
}

// There are no boards that a code could open.
Response join(const Request&, Service&) {
  return error_answer(400, "this gateway has no closed leaderboards, so no code is needed: every leaderboard is open");
}

Expected<ClientFile> file_of(const Request& request) {
  const std::string type = request.header("content-type").value_or("");
  if (!lower(type).starts_with("multipart/form-data"))
    return bad_input("the body must be a form, multipart/form-data, with the part \"file\"");
  KQ_TRY_VALUE(const auto parts, parse_form(type, request.body));
  for (const FormPart& part : parts) {
    if (part.name == "file") return ClientFile{part.file_name, std::string(part.content)};
  }
  return bad_input("the form has no part \"file\"");
}

// An accepted submission.
struct Accepted {
  JobId job;
  Submitted submitted;
};

// Takes the submission of a request. Fails with the answer for the client.
tl::expected<Accepted, Response> take(const Request& request, Shared& state, Service& service) {
  const auto refuse = [](const Error& error) { return tl::unexpected(error_answer(error)); };
  const auto boards = state.boards();
  if (!boards) return refuse(boards.error());
  const auto board = board_of(**boards, request.path_values.at("board"));
  if (!board) return refuse(board.error());
  const std::string& mode_name = request.path_values.at("mode");
  const auto mode = parse_enum<Mode>(lower(mode_name));
  if (!mode)
    return tl::unexpected(error_answer(400, "mode must be one of " + known_names<Mode>() + ", got " + mode_name));
  const auto user = user_of(request);
  if (!user) return refuse(user.error());
  const auto gpu = gpu_of(service, request.path_values.at("gpu"));
  if (!gpu) return refuse(gpu.error());
  const auto file = file_of(request);
  if (!file) return refuse(file.error());
  auto job = job_of(**board, *mode, *gpu, *file);
  if (!job) return refuse(job.error());
  const std::int64_t id = state.numbers.next(service.now_ms(), service.random_name());
  job->submission.label = label_of(id);
  job->submission.author = user->name;
  const auto sent = service.submit(request.submitter, user->run, std::span(&*job, 1));
  if (!sent) return refuse(sent.error());
  const SubmittedJob& one = sent->front();
  if (one.ack.acceptance == Acceptance::refused) return tl::unexpected(error_answer(400, one.ack.reason));
  if (one.ack.acceptance == Acceptance::busy) return tl::unexpected(error_answer(503, one.ack.reason));
  return Accepted{
      .job = one.id,
      .submitted = {.id = id, .at_ms = id / kSubmissionsPerMs, .board_id = (*board)->id, .user = user->name}};
}

Response submit(const Request& request, Shared& state, Service& service) {
  const auto accepted = take(request, state, service);
  if (!accepted) return accepted.error();
  Object details;
  details.add("id", accepted->submitted.id).add("job_status_id", accepted->submitted.id);
  Object body;
  body.add("details", details.json());
  const auto row = service.find(request.submitter, accepted->job);
  const auto waiting = service.status(request.submitter, accepted->job);
  body.add("runner_queue", row && waiting ? queue_json(*row, *waiting) : Json{nullptr}).add("status", "accepted");
  return json_response(202, body.json());
}

std::string event(std::string_view name, const Json& data) {
  return "event: " + std::string(name) + "\ndata: " + producer::to_text(data) + "\n\n";
}

Json error_json(int status, const std::string& sentence) {
  Object error;
  error.add("status", "error").add("detail", sentence).add("status_code", status);
  return error.json();
}

// Sends how the submission stands until it is finished, and then its result.
bool send_events(const Request& request, Service& service, const JobId& job, const Write& write) {
  const std::int64_t start_ms = service.now_ms();
  std::int64_t passed_ms = 0;
  for (std::int64_t wait_ms = 0; passed_ms < kStreamMsMax; wait_ms = kStatusEventMs) {
    const auto row = service.wait(request.submitter, job, wait_ms, false, request.is_abandoned);
    if (!row) return write(event("error", error_json(gateway::status_of(row.error().kind), row.error().message)));
    if (row->result && name_of(row->result->verdict) == VerdictName::rejected)
      return write(event("error", error_json(400, failure_of(*row->result))));
    if (row->result) return write(event("result", result_json(*row)));
    passed_ms = service.now_ms() - start_ms;
    Object status;
    status.add("status", "processing").add("elapsed_time", static_cast<double>(passed_ms) / 1e3);
    status.add("message", std::string(row->job.state == JobState::queued ? "the submission waits in the queue, "
                                                                         : "the submission runs, ") +
                              std::to_string(passed_ms / 1'000) + " s");
    if (!write(event("status", status.json()))) return false;
  }
  return write(event("error", error_json(504,
                                         "the submission is not finished after an hour; its result will be in "
                                         "the list of submissions")));
}

Response submit_and_wait(const Request& request, Shared& state, Service& service) {
  const auto accepted = take(request, state, service);
  if (!accepted) return accepted.error();
  Response response{.status = 200, .type = "text/event-stream"};
  response.stream = [&service, request, job = accepted->job](const Write& write) {
    return send_events(request, service, job, write);
  };
  return response;
}

std::optional<std::int64_t> number_in(std::string_view text, std::int64_t max) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0 || number > max) return std::nullopt;
  return number;
}

// Returns the number of a submission by its label, or nothing for a label of another origin.
std::optional<std::int64_t> submission_id_of(const std::string& label) {
  if (label.size() != kLabelDigits) return std::nullopt;
  const auto number = number_in(label, kSubmissionIdMax);
  return number ? std::optional(kSubmissionIdMax - *number) : std::nullopt;
}

std::string board_tag(const RunRow& row) {
  const auto& tags = row.entry.submission.tags;
  const auto found = tags.find(std::string(kBoardTag));
  return found == tags.end() ? "" : found->second;
}

Submitted submitted_of(std::int64_t id, const User& user, const RunRow& row, const Shared& state) {
  Submitted submitted{.id = id, .at_ms = id / kSubmissionsPerMs, .board_id = 0, .user = user.name};
  if (const auto boards = state.boards()) {
    if (const Board* board = find_board(**boards, board_tag(row))) submitted.board_id = board->id;
  }
  return submitted;
}

Response list_submissions(const Request& request, Shared& state, Service& service) {
  const auto user = user_of(request);
  if (!user) return error_answer(user.error());
  const auto limit = number_in(request.query_value("limit").value_or(std::to_string(kListedDefault)), kListedMax);
  auto skip = number_in(request.query_value("offset").value_or("0"), kSubmissionIdMax);
  if (!limit || *limit == 0) return error_answer(400, "limit must be a number from 1 to " + std::to_string(kListedMax));
  if (!skip) return error_answer(400, "offset must be a number from 0 on");
  const std::string board = lower(request.query_value("leaderboard").value_or(""));
  JsonArray list;
  RunQuery query{.run = user->run, .after_label = "", .limit = kQueryRowsMax};
  for (std::size_t page = 0; page < kListPagesMax; ++page) {
    const auto reply = service.run_page(request.submitter, query);
    if (!reply) return error_answer(reply.error());
    for (const RunRow& row : reply->rows) {
      const auto id = submission_id_of(row.entry.submission.label);
      if (!id || (!board.empty() && lower(board_tag(row)) != board)) continue;
      if ((*skip)-- > 0) continue;
      list.push_back(summary_json(row, submitted_of(*id, *user, row, state)));
      if (std::ssize(list) == *limit) return json_response(200, Json{std::move(list)});
    }
    if (!reply->more || reply->rows.empty()) break;
    query.after_label = reply->rows.back().entry.submission.label;
  }
  return json_response(200, Json{std::move(list)});
}

// One submission of a user.
struct Known {
  User user;
  std::int64_t id = 0;
  RunRow row;

  JobId job() const { return {.seq = row.entry.seq, .run = user.run, .label = row.entry.submission.label}; }
};

Expected<Known> find(const Request& request, Service& service) {
  KQ_TRY_VALUE(const User user, user_of(request));
  const std::string& text = request.path_values.at("id");
  const Error unknown{ErrorKind::not_found, "you have no submission " + text};
  const auto id = number_in(text, kSubmissionIdMax - 1);
  if (!id) return failure(unknown);
  // The label before is that of the next number.
  const RunQuery query{.run = user.run, .after_label = label_of(*id + 1), .limit = 1};
  KQ_TRY_VALUE(RunReply page, service.run_page(request.submitter, query));
  if (page.rows.empty() || page.rows[0].entry.submission.label != label_of(*id)) return failure(unknown);
  return Known{.user = user, .id = *id, .row = std::move(page.rows[0])};
}

Response show_submission(const Request& request, Shared& state, Service& service) {
  const auto known = find(request, service);
  if (!known) return error_answer(known.error());
  std::optional<JobStatus> waiting;
  if (!known->row.result) {
    if (const auto status = service.status(request.submitter, known->job())) waiting = *status;
  }
  return json_response(200, details_json(known->row, submitted_of(known->id, known->user, known->row, state), waiting));
}

Response delete_submission(const Request& request, Service& service) {
  const auto known = find(request, service);
  if (!known) return error_answer(known.error());
  if (known->row.result)
    return error_answer(409, "the submission is finished, and stays until the broker removes old jobs by its own rule");
  const auto action = service.cancel(request.submitter, known->job());
  if (!action) return error_answer(action.error());
  if (!action->done) return error_answer(409, action->reason);
  Object body;
  body.add("status", "ok").add("submission_id", known->id);
  return json_response(200, body.json());
}

Route route(std::string method, std::string path, Handler handler) {
  return {
      .method = std::move(method), .path = std::move(path), .handler = std::move(handler), .error_shape = frame_error};
}

}  // namespace

std::string label_of(std::int64_t submission_id) {
  const std::string digits = std::to_string(kSubmissionIdMax - submission_id);
  return std::string(kLabelDigits - std::min(kLabelDigits, digits.size()), '0') + digits;
}

Routes popcorn_routes(ProblemSet* problems, bool has_tokens) {
  const auto state = std::make_shared<Shared>();
  state->problems = problems;
  using Function = Response (*)(const Request&, Shared&, Service&);
  const auto with_state = [&](Function function) {
    return [state, function](const Request& request, Service& service) { return function(request, *state, service); };
  };
  Routes routes;
  routes.push_back(route("GET", "/leaderboards",
                         [state](const Request&, Service& service) { return list_boards(*state, service); }));
  routes.push_back(route("GET", "/gpus/{board}", with_state(list_gpus)));
  routes.push_back(route("GET", "/auth/init",
                         [has_tokens](const Request&, Service& service) { return give_id(service, has_tokens); }));
  for (Route& one : routes) one.access = Access::anyone;
  routes.push_back(route("POST", "/user/join", join));
  routes.push_back(route("GET", "/user/submissions", with_state(list_submissions)));
  routes.push_back(route("GET", "/user/submissions/{id}", with_state(show_submission)));
  routes.push_back(route("DELETE", "/user/submissions/{id}", delete_submission));
  routes.push_back(route("POST", "/submission/{board}/{gpu}/{mode}", with_state(submit)));
  routes.back().body_bytes_max = kBodyBytesMax;
  routes.push_back(route("POST", "/{board}/{gpu}/{mode}", with_state(submit_and_wait)));
  routes.back().body_bytes_max = kBodyBytesMax;
  routes.back().waits = true;
  return routes;
}

}  // namespace kq::gateway::popcorn
