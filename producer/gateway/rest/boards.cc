// The routes of boards and of the broker's state, which belong to no submitter.
//
// A row is the first place of a board as the broker keeps it, under the problem name to which that kernel was sent. A
// board is found by its other names, too: by those of the submitter's own jobs, whose problem files tell the board.
#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <utility>

#include "core/base/problem_name.h"
#include "core/bytes/hash.h"
#include "core/limits.h"
#include "producer/client/board_noise.h"
#include "producer/gateway/rest/rest.h"
#include "producer/gateway/rest/values.h"
#include "producer/gateway/service.h"

namespace kq::gateway {
namespace {

using producer::Json;
using producer::JsonArray;

constexpr std::size_t kBoardPagesMax = 4'096;   // pages of all boards that are searched for one problem
constexpr std::size_t kNamedJobsMax = 100'000;  // of the submitter, that are searched for the name of a problem

// Returns the id of a board's job for the routes of jobs; nothing where the submitter may not see the job.
Expected<std::optional<JobId>> job_id_of(const Request& request, Service& service, const LeaderboardRow& row) {
  if (row.seq == 0) return std::optional<JobId>();
  KQ_TRY_VALUE(
      const VisibleJobs jobs,
      service.visible_jobs(request.submitter, {.state = JobState::finished, .after_seq = row.seq - 1, .limit = 1}));
  const auto& found = jobs.reply.jobs;
  if (found.empty() || found.front().job.seq != row.seq) return std::optional<JobId>();
  return std::optional(JobId{.seq = row.seq, .run = found.front().job.run, .label = found.front().label});
}

// A board of times that a problem's own program has reported has no reference and no speedup.
Json number_or_null(double value) {
  return value > 0 && std::isfinite(value) ? Json{value} : Json{nullptr};
}

Expected<Json> board_row(const Request& request, Service& service, const LeaderboardRow& row) {
  KQ_TRY_VALUE(const auto id, job_id_of(request, service, row));
  Object object;
  object.add("problem", row.problem).add("problem_hash", to_hex(row.problem_hash));
  object.add("device_model", row.device_model).add("label", row.label).add("author", row.author);
  object.add("backend", row.backend)
      .add("median_ns", row.median_ns)
      .add("reference_ns", number_or_null(row.reference_ns));
  object.add("speedup", number_or_null(row.speedup)).add("fell_back", row.fell_back).add("decoy", row.is_decoy);
  object.add("streams", to_string(row.streams)).add("graphs", to_string(row.graphs));
  object.add("findings", row.has_findings);
  object.add("finished_at", time_json(row.finished_at_ms)).add("baseline", to_string(row.baseline));
  object.add("kernel_hash", to_hex(row.kernel_hash)).add("noise_ns", number_or_null(row.noise_ns));
  object.add("reference_noise_ns", number_or_null(row.reference_noise_ns))
      .add("run_count", std::uint64_t{row.runs.size()});
  object.add("sample_count", std::uint64_t{row.sample_count}).add("noisy", row.is_noisy);
  object.add("speedup_noise", number_or_null(producer::speedup_noise(row)));
  // What `kq leaderboard --json` has, with its units. The broker keeps the kernel of rank 1 only.
  object.add("rank", 1).add("job_id", row.seq).add("submitter", row.submitter);
  object.add("run", id ? Json{id->run} : Json{nullptr}).add("id", id ? Json{id->text()} : Json{nullptr});
  object.add("median_us", row.median_ns / 1e3).add("noise_us", number_or_null(row.noise_ns / 1e3));
  object.add("reference_us", number_or_null(row.reference_ns / 1e3));
  object.add("reference_noise_us", number_or_null(row.reference_noise_ns / 1e3));
  return object.json();
}

Expected<Json> board_rows(const Request& request, Service& service, const std::vector<LeaderboardRow>& rows) {
  JsonArray array;
  for (const LeaderboardRow& row : rows) {
    KQ_TRY_VALUE(Json made, board_row(request, service, row));
    array.push_back(std::move(made));
  }
  return Json{std::move(array)};
}

Expected<void> each_board(Service& service, const std::function<void(LeaderboardRow&)>& visit) {
  BoardQuery query{.after_key = "", .limit = kQueryRowsMax};
  for (std::size_t page = 0; page < kBoardPagesMax; ++page) {
    KQ_TRY_VALUE(BoardReply reply, service.board_page(query));
    for (LeaderboardRow& row : reply.rows) visit(row);
    if (!reply.more) break;
    query.after_key = reply.last_key;
  }
  return {};
}

// Adds the boards of those jobs of a run that were sent to a problem of this name. `left` is the number of jobs that
// may still be read.
Expected<void> add_boards_of_run(const Request& request, Service& service, const std::string& run,
                                 const std::string& problem, std::size_t& left, std::set<Hash>& boards) {
  RunQuery query{.run = run, .after_label = "", .limit = kQueryRowsMax};
  for (bool more = true; more && left > 0;) {
    KQ_TRY_VALUE(const RunReply page, service.run_page(request.submitter, query));
    for (const RunRow& row : page.rows) {
      if (is_meant_by(row.entry.submission.problem.name, problem)) boards.insert(board_hash(row.entry.submission));
    }
    left -= std::min(left, page.rows.size());
    more = page.more && !page.rows.empty();
    if (more) query.after_label = page.rows.back().entry.submission.label;
  }
  return {};
}

// Returns the boards of the submitter's jobs that were sent to a problem of this name, among the first `left` jobs.
Expected<std::set<Hash>> boards_of_jobs(const Request& request, Service& service, const std::string& problem,
                                        std::size_t& left) {
  std::set<Hash> boards;
  RunsQuery query{.after = "", .limit = kQueryRowsMax};
  for (bool more = true; more && left > 0;) {
    KQ_TRY_VALUE(const RunsReply page, service.runs(request.submitter, query));
    for (const KnownRun& run : page.runs) KQ_TRY(add_boards_of_run(request, service, run.run, problem, left, boards));
    more = page.more && !page.runs.empty();
    if (more) query.after = page.runs.back().run;
  }
  return boards;
}

// Returns the rows of a problem, by the name or the hash of one of its boards. With a name it finds the problem's
// boards on other devices, too, whose first place may have another name.
Expected<std::vector<LeaderboardRow>> boards_of_problem(const Request& request, Service& service,
                                                        const std::string& problem) {
  std::set<Hash> boards;
  KQ_TRY(each_board(service, [&](const LeaderboardRow& row) {
    if (is_meant_by(row.problem, problem) || to_hex(row.problem_hash) == problem) boards.insert(row.problem_hash);
  }));
  if (boards.empty()) {
    std::size_t left = kNamedJobsMax;
    KQ_TRY_VALUE(boards, boards_of_jobs(request, service, problem, left));
    const std::string jobs = left > 0 ? "jobs" : "first " + std::to_string(kNamedJobsMax) + " jobs";
    if (boards.empty())
      return failure(Error{ErrorKind::not_found, "there is no board of a problem '" + problem +
                                                     "': neither the first place of a board nor one of your " + jobs +
                                                     " has this problem name; GET /api/v1/boards lists the boards"});
  }
  std::vector<LeaderboardRow> rows;
  KQ_TRY(each_board(service, [&](LeaderboardRow& row) {
    if (boards.contains(row.problem_hash)) rows.push_back(std::move(row));
  }));
  if (rows.empty())
    return failure(Error{ErrorKind::not_found, "no job of the problem '" + problem + "' is on a board yet"});
  return rows;
}

// The key of a board in the form of `after` and `next`.
std::string place_text(std::string_view key) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : key) {
    const auto byte = static_cast<unsigned char>(c);
    text += {kDigits[byte / 16], kDigits[byte % 16]};
  }
  return text;
}
std::optional<std::string> place_from(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string key;
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const std::size_t high = kDigits.find(text[i]);
    const std::size_t low = i + 1 < text.size() ? kDigits.find(text[i + 1]) : std::string_view::npos;
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    key += static_cast<char>(high * 16 + low);
  }
  return key;
}

Json device_json(const DeviceInfo& device) {
  Object object;
  object.add("kind", to_string(device.kind)).add("model", device.model).add("arch", device.arch);
  object.add("memory_bytes", device.memory_bytes);
  return object.json();
}

}  // namespace

Response get_boards(const Request& request, Service& service) {
  const auto limit = page_limit(request);
  if (!limit) return problem_of(limit.error(), request);
  const auto after = place_from(request.query_value("after").value_or(""));
  if (!after) return problem(400, "after must be `next` of the page before", request);
  const auto page = service.board_page({.after_key = *after, .limit = *limit});
  if (!page) return problem_of(page.error(), request);
  auto rows = board_rows(request, service, page->rows);
  if (!rows) return problem_of(rows.error(), request);
  Object body;
  body.add("boards", std::move(*rows)).add("next", page->more ? Json{place_text(page->last_key)} : Json{nullptr});
  return json_response(200, body.json());
}

Response get_board(const Request& request, Service& service) {
  const std::string& problem_name = request.path_values.at("problem");
  const auto boards = boards_of_problem(request, service, problem_name);
  if (!boards) return problem_of(boards.error(), request);
  auto rows = board_rows(request, service, *boards);
  if (!rows) return problem_of(rows.error(), request);
  Object body;
  body.add("problem", problem_name).add("rows", std::move(*rows));
  return json_response(200, body.json());
}

Response get_broker(const Request& request, Service& service) {
  const auto reply = service.broker();
  if (!reply) return problem_of(reply.error(), request);
  JsonArray workers;
  for (const WorkerStatus& worker : reply->workers) {
    JsonArray devices;
    for (const DeviceInfo& device : worker.devices) devices.push_back(device_json(device));
    Object object;
    object.add("worker", worker.worker).add("running", worker.running).add("draining", worker.draining);
    object.add("devices", Json{std::move(devices)}).add("last_seen_at", time_json(worker.last_seen_ms));
    workers.push_back(object.json());
  }
  Object body;
  body.add("version", reply->version).add("queued", reply->queued).add("leased", reply->leased);
  body.add("workers", Json{std::move(workers)});
  return json_response(200, body.json());
}

}  // namespace kq::gateway
