// The routes of boards and of the broker's state, which belong to no submitter.
#include <utility>

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

constexpr std::size_t kBoardPagesMax = 4'096;  // pages of all boards that are searched for one problem

Json board_row(const LeaderboardRow& row) {
  Object object;
  object.add("problem", row.problem).add("problem_hash", to_hex(row.problem_hash));
  object.add("device_model", row.device_model).add("label", row.label).add("author", row.author);
  object.add("backend", row.backend).add("median_ns", row.median_ns).add("reference_ns", row.reference_ns);
  object.add("speedup", row.speedup).add("fell_back", row.fell_back).add("decoy", row.is_decoy);
  object.add("streams", to_string(row.streams)).add("graphs", to_string(row.graphs));
  object.add("findings", row.has_findings);
  object.add("finished_at", time_json(row.finished_at_ms)).add("baseline", to_string(row.baseline));
  object.add("kernel_hash", to_hex(row.kernel_hash)).add("noise_ns", row.noise_ns);
  object.add("reference_noise_ns", row.reference_noise_ns).add("run_count", std::uint64_t{row.runs.size()});
  object.add("sample_count", std::uint64_t{row.sample_count}).add("noisy", row.is_noisy);
  object.add("speedup_noise", producer::speedup_noise(row));
  return object.json();
}

Json device_json(const DeviceInfo& device) {
  Object object;
  object.add("kind", to_string(device.kind)).add("model", device.model).add("arch", device.arch);
  object.add("memory_bytes", device.memory_bytes);
  return object.json();
}

}  // namespace

Response get_board(const Request& request, Service& service) {
  const std::string& problem_name = request.path_values.at("problem");
  JsonArray rows;
  BoardQuery query{.after_key = "", .limit = kQueryRowsMax};
  for (std::size_t page = 0; page < kBoardPagesMax; ++page) {
    const auto reply = service.board_page(query);
    if (!reply) return problem_of(reply.error(), request);
    for (const LeaderboardRow& row : reply->rows) {
      if (row.problem == problem_name || to_hex(row.problem_hash) == problem_name) rows.push_back(board_row(row));
    }
    if (!reply->more) break;
    query.after_key = reply->last_key;
  }
  if (rows.empty()) return problem(404, "there is no board of a problem '" + problem_name + "'", request);
  Object body;
  body.add("problem", problem_name).add("rows", Json{std::move(rows)});
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
