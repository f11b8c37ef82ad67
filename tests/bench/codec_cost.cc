#include "tests/bench/codec_cost.h"

#include <nlohmann/json.hpp>
#include <string>

#include "core/blob.h"
#include "core/codec/codec.h"
#include "tests/bench/kq_jobs.h"
#include "tests/bench/measure.h"

namespace kq::bench {
namespace {

constexpr std::size_t kJobs = 64;  // in one message
constexpr std::int64_t kProbeNs = 200'000'000;
constexpr std::size_t kRoundsAtOnce = 100;  // between two readings of the processor clock, which take long

double ns_per(std::size_t job_count, const auto& once) {
  once();  // fills caches before the measurement
  const std::int64_t start_ns = thread_cpu_ns();
  std::int64_t spent_ns = 0;
  std::size_t round_count = 0;
  for (; spent_ns < kProbeNs; spent_ns = thread_cpu_ns() - start_ns) {
    for (std::size_t i = 0; i < kRoundsAtOnce; ++i) once();
    round_count += kRoundsAtOnce;
  }
  return static_cast<double>(spent_ns) / static_cast<double>(round_count * job_count);
}

template <class Body>
void measure_message(nlohmann::json& costs, const std::string& name, Body body) {
  const Message<Body> message{1, std::move(body)};
  const std::string bytes = encode_message(message);
  costs[name + "_bytes"] = bytes.size() / kJobs;
  costs[name + "_encode_ns"] = ns_per(kJobs, [&] { (void)encode_message(message); });
  costs[name + "_decode_ns"] = ns_per(kJobs, [&] {
    if (!decode_message<Body>(bytes)) give_up("the codec refused its own bytes");
  });
}

template <class T>
void measure_record(nlohmann::json& costs, const std::string& name, const T& record) {
  const std::string bytes = encode(record);
  costs[name + "_bytes"] = bytes.size();
  costs[name + "_encode_ns"] = ns_per(1, [&] { (void)encode(record); });
  costs[name + "_decode_ns"] = ns_per(1, [&] {
    if (!decode<T>(bytes)) give_up("the codec refused its own bytes");
  });
}

}  // namespace

nlohmann::json measure_codec(const Bodies& bodies) {
  nlohmann::json costs;
  const Hello hello = hello_of("worker", 1, 1);
  SubmitBatch submit{.run = "bench", .jobs = {}, .blobs = {}, .submitter = "client"};
  SubmitAck submit_ack;
  LeaseBatch leases{.epoch = 1, .leases = {}};
  ResultBatch results{.epoch = 1, .results = {}, .errors = {}};
  for (Sequence seq = 0; seq < kJobs; ++seq) {
    const std::string body = bodies.body(seq);
    const Blob blob{sha256(body), body};
    const Submission submission = submission_of(blob.hash, std::to_string(seq), "client");
    submit.jobs.push_back(submission);
    submit.blobs.push_back(blob);
    submit_ack.jobs.push_back(
        {.acceptance = Acceptance::accepted, .seq = 1'000'000 + seq, .state = JobState::queued, .reason = ""});
    leases.leases.push_back({.id = {1'000'000 + seq, 1},
                             .run = "bench",
                             .submission = submission,
                             .blobs = {blob},
                             .device = hello.devices[0]});
    results.results.push_back({{1'000'000 + seq, 1}, passed_result(hello.devices[0])});
  }
  const Result result = results.results[0].result;
  measure_record(costs, "submission", submit.jobs[0]);
  measure_record(costs, "job_record",
                 JobRecord{.seq = 1'000'000, .key = submission_key(submit.jobs[0]), .last_error = ""});
  measure_record(costs, "result", result);
  measure_record(costs, "samples", result.samples);
  measure_message<ClientRequest>(costs, "submit_batch", std::move(submit));
  measure_message<ClientReply>(costs, "submit_ack", std::move(submit_ack));
  measure_message<WorkerReply>(costs, "lease_batch", std::move(leases));
  measure_message<WorkerRequest>(costs, "result_batch", std::move(results));

  const Submission submission = submission_of(problem_blob().hash, "1", "client");
  costs["submission_key_ns"] = ns_per(1, [&] { (void)submission_key(submission); });
  const std::string body = bodies.body(1);
  costs["body_ns"] = ns_per(1, [&] { (void)bodies.body(1); });
  Compressor compressor;
  Decompressor decompressor;
  const Blob blob = packed(compressor, sha256(body), body);
  costs["packed_bytes"] = blob.bytes.size();
  costs["pack_ns"] = ns_per(1, [&] { (void)packed(compressor, blob.hash, body); });
  costs["unpack_ns"] = ns_per(1, [&] { (void)decompressor.decompress(blob.packing, blob.bytes, body.size()); });
  costs["body_bytes"] = body.size();
  costs["sha256_ns"] = ns_per(1, [&] { (void)sha256(body); });
  return costs;
}

}  // namespace kq::bench
