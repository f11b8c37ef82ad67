// One value of every record and of every message, in which each field differs from its default. Tests encode and decode
// these values, mutate the bytes, and compare them with the golden bytes. Each new field needs a value here.
#pragma once

#include <vector>

#include "core/messages.h"
#include "core/plan.h"
#include "core/records.h"

namespace kq::examples {

inline TruthRule truth_rule() {
  return {.is_used = false, .rms = 2.5, .max = 4.5, .allowed = AllowedPrecision::tf32};
}

inline TruthErrors truth_errors() {
  return {.kind = "float64 on the device",
          .submission_max = 3e-4,
          .submission_rms = 2.5e-4,
          .reference_max = 2e-4,
          .reference_rms = 1.5e-4,
          .rounding_max = 1e-4,
          .rounding_rms = 0.5e-4,
          .looks_like = "TF32 or float16"};
}

inline Submission submission() {
  return {.label = "relu/fast_triton",
          .author = "ada",
          .tags = {{"level", "1"}, {"model", "größer"}},
          .backend = Backend::triton,
          .files = {{"relu.py", sha256("source")}, {"relu.cu", sha256("kernel")}},
          .problem = {.name = "level1/19_ReLU",
                      .file = "19_ReLU.py",
                      .hash = sha256("problem"),
                      .precision = Precision::bf16,
                      .rtol = 0.01,
                      .atol = 0.001,
                      .workloads = {{"large"}},
                      .device_count = 2},
          .device = DeviceWish::cuda,
          .gpu_model = "NVIDIA H200",
          .trials = {.correctness = 7,
                     .warmup = 3,
                     .timed = 100,
                     .baseline = Baseline::compile,
                     .profile = Profiler::ncu,
                     .need_extensions = true,
                     .streams = Streams::joined,
                     .graphs = Graphs::allow},
          .salt = "again",
          .time_limit_ms = 45'000,
          .priority = Priority::high,
          .not_before_ms = 1'760'000'000'500,
          .deadline_ms = 1'760'000'900'000,
          .labels = {"nvlink", "rack-7"},
          .truth = truth_rule()};
}

inline DeviceInfo device() {
  return {.kind = DeviceKind::cuda,
          .model = "NVIDIA H200",
          .uuid = "GPU-0123",
          .arch = "sm_90",
          .memory_bytes = 150'754'820'096,
          .device_count = 8};
}

inline Requirements requirements() {
  return {.wish = DeviceWish::cuda,
          .gpu_model = "NVIDIA H200",
          .memory_above_bytes = 85'899'345'920,
          .backend = Backend::triton,
          .labels = {"nvlink", "rack-7"},
          .device_count = 2};
}

inline Measurement measurement() {
  return {.method = "bracket",
          .submission = {.sample_count = 3,
                         .median_ns = 2,
                         .mean_ns = 2.5,
                         .std_ns = 0.5,
                         .min_ns = 1.5,
                         .max_ns = 4,
                         .p95_ns = 3.5,
                         .p99_ns = 3.75},
          .reference = {.sample_count = 4,
                        .median_ns = 20,
                        .mean_ns = 25,
                        .std_ns = 5,
                        .min_ns = 15,
                        .max_ns = 40,
                        .p95_ns = 35,
                        .p99_ns = 37.5},
          .overhead_ns = 143'000.25,
          .drift_ns = -250.5,
          .attested_ns = 2.25,
          .event_ns = 2,
          .burst_ns = 2.125,
          .noise_ns = 0.125,
          .reference_noise_ns = 2.5,
          .busy_tasks = 1.5,
          .is_noisy = true};
}

inline Correctness correctness() {
  return {.trials_passed = 7,
          .max_abs_err = 1e-6,
          .max_rel_err = 1e-5,
          .rtol = 0.25,
          .atol = 0.125,
          .truth = truth_errors()};
}

inline Evidence evidence() {
  return {.stage = Stage::judge,
          .reason = "value",
          .message = "output 0 differs",
          .hint = "is the tail masked?",
          .rule = "stream.create",
          .place = "relu.py:12",
          .mismatch = Mismatch{.trial = 2,
                               .output = 1,
                               .element = 1ull << 40,
                               .expected = 0.1,
                               .got = -0.1,
                               .max_abs_err = 0.2,
                               .max_rel_err = 2,
                               .mismatched = 17,
                               .total = 1ull << 41,
                               .worst_place = "[3, 17]",
                               .worst_expected = 0.5,
                               .worst_got = 0.75,
                               .worst_error = 0.25,
                               .worst_allowed = 0.0625,
                               .rtol = 0.1,
                               .atol = 0.01,
                               .not_finite = 2,
                               .looks_like = "tail",
                               .expected_form = "float32[2, 3]",
                               .got_form = "float32[3, 2]"},
          .truth = truth_errors(),
          .unmatched = "the reference's fc.weight"};
}

inline Verdict passed() {
  return Passed{measurement(), correctness()};
}
inline Verdict suspect() {
  return Suspect{measurement(), correctness(), evidence()};
}
inline Verdict wrong_answer() {
  return ended(VerdictName::wrong_answer, evidence());
}

inline Samples samples() {
  return {.submission_ns = {3, 1, 2}, .reference_ns = {40, 10, 20, 15}};
}

inline Profile profile() {
  return {.tool = "ncu 2025.3.1.0",
          .directory = "/var/lib/kq/worker/profiles/nightly/add_fast-42-2",
          .message = "1 of 2 kernels could not be replayed",
          .ms = 9'250,
          .kernels = {{.kernel = "add(float const*, float*)",
                       .metrics = {{"speed_of_light.sm_throughput_pct", 6.13},
                                   {"timing_metrics.gpu_time_duration_sum", 42'880}}}}};
}

inline ProblemCertificate certificate() {
  return {.warnings = {{.name = "zeros", .message = "workload n=1024: a kernel that returns zeros passes"}},
          .invalid = *evidence_of(wrong_answer())};
}

inline Result result(Verdict verdict = passed()) {
  return {.verdict = std::move(verdict),
          .device = device(),
          .worker = "gpu-7/4711",
          .times = {.build_ms = 30'000, .build_cached = true, .run_ms = 1'250, .trials_us = 640'125},
          .software = {.kq = "0.1.0",
                       .python = "3.12.3",
                       .torch = "2.9.0",
                       .triton = "3.5.0",
                       .cuda = "13.0",
                       .evaluator = "kq-evaluator/3",
                       .packages = to_hex(sha256("packages"))},
          .sandbox = "uid,user,pid,mount,ipc,net,rlimits",
          .log = "compiling\n\x1b[31mdone\xff\n",  // a log may have bytes that are not UTF-8
          .samples = samples(),
          .toolchain = {.compiler = "nvcc 13.0.88, g++ 12.2.0, mold", .flags = "-O3 -arch=sm_90a"},
          .host = {.name = "gpu-7",
                   .cpu = "AMD EPYC 9654 96-Core Processor",
                   .cores = 96,
                   .governor = "performance",
                   .kernel = "6.8.0-45-generic",
                   .distro = "Ubuntu 24.04 LTS",
                   .libc = "glibc 2.39",
                   .driver = "580.65.06",
                   .container = "kubernetes",
                   .scheduler = "slurm",
                   .scheduled_as = "4711_3"},
          .conditions = Conditions{.sm_clock_mhz = 1'980,
                                   .memory_clock_mhz = 3'201,
                                   .temperature_c = 41,
                                   .power_w = 312.5,
                                   .throttle = "sw_power_cap,hw_thermal_slowdown",
                                   .foreign = {{{.pid = 4'711, .memory_mib = 512}}}},
          .profile = profile(),
          .extensions = Extensions{.calls = 2,
                                   .compiled = 1,
                                   .failed = {{.name = "add", .error = "add.py:31: identifier \"n\" is undefined"}},
                                   .fell_back = true},
          .cases = {{.workload = "n=1024", .weight = 2, .verdict = passed(), .samples = samples()}},
          .problem_warnings = certificate().warnings,
          .kernels_ran =
              KernelsRan{
                  .calls = 2,
                  .kernels = {{.name = "relu_kernel(float*)", .owner = KernelOwner::torch, .count = 4, .ns = 12'500}},
                  .left_out = 1,
                  .own_share = 0.25,
                  .is_decoy = true,
                  .are_own_wanted = true},
          .findings = {{.rule = "patches_torch", .place = "relu.py:12"}}};
}

inline JobRecord job() {
  return {.seq = 42,
          .key = submission_key(submission()),
          .state = JobState::finished,
          .attempt = 2,
          .failures = 1,
          .submitted_at_ms = 1'760'000'000'000,
          .leased_at_ms = 1'760'000'001'000,
          .finished_at_ms = 1'760'000'002'000,
          .last_error = "the worker went away",
          .submitter = "ada@lab",
          .run = "nightly",
          .priority = Priority::high,
          .needs = requirements(),
          .problem = sha256("problem"),
          .not_before_ms = 1'760'000'000'500,
          .deadline_ms = 1'760'000'900'000,
          .bytes = 4'096,
          .first_submitter = "bob@lab",
          .also_for = {"bob@lab", "web/eve"}};
}

inline RunEntry run_entry() {
  return {.seq = 42, .submission = submission(), .submitter = "bob@lab"};
}
inline RunOwner run_owner() {
  return {.owner = "ada@lab", .shared = {"bob@lab", "web/eve"}};
}
inline RunRow run_row() {
  return {.run = "nightly",
          .entry = run_entry(),
          .job = job(),
          .result = result(),
          .reruns = {{.seq = 41, .median_ns = 3, .reference_ns = 21, .noise_ns = 0.5, .reference_noise_ns = 2}}};
}

inline LeaderboardRow leaderboard_row() {
  return {.problem = "level1/19_ReLU",
          .problem_hash = sha256("problem"),
          .device_model = "NVIDIA H200",
          .seq = 42,
          .label = "relu/fast_triton",
          .author = "ada",
          .backend = "triton",
          .median_ns = 2,
          .reference_ns = 20,
          .speedup = 10,
          .finished_at_ms = 1'760'000'002'000,
          .fell_back = true,
          .submitter = "ada@lab",
          .is_decoy = true,
          .streams = Streams::joined,
          .graphs = Graphs::allow,
          .has_findings = true,
          .kernel_hash = sha256("source"),
          .baseline = Baseline::compile,
          .noise_ns = 0.25,
          .reference_noise_ns = 1.5,
          .sample_count = 40,
          .is_noisy = true,
          .runs = {{.seq = 42, .median_ns = 2, .reference_ns = 20, .noise_ns = 0.25, .reference_noise_ns = 1.5}}};
}

inline Blob blob() {
  return {.hash = sha256("source"), .bytes = std::string("sou\0rce", 7), .packing = Packing::zstd};
}
inline LeaseId lease_id() {
  return {.seq = 42, .attempt = 2};
}

inline BuildObject build_object() {
  return {.kind = DeviceKind::cpu,
          .arch = "sm_90",
          .key = sha256("key"),
          .hash = sha256("object"),
          .bytes = std::string("ob\0ject", 7)};
}

inline std::vector<ClientRequest> client_requests() {
  return {SubmitBatch{.run = "nightly", .jobs = {submission()}, .blobs = {blob()}, .submitter = "ada@lab"},
          StatusQuery{.seqs = {42, 43}, .wait_ms = 20'000},
          RunQuery{.run = "nightly", .after_label = "relu/a", .limit = 100, .with_samples = true, .with_reruns = true},
          BoardQuery{.after_key = std::string("\0\xff", 2), .limit = 50},
          BrokerQuery{},
          CancelJobs{.seqs = {42, 43}, .submitter = "ada"},
          RetryJobs{.seqs = {42}},
          PurgeDead{.seqs = {43}},
          Pause{.submitter = "ada@lab", .paused = false},
          Drain{.worker = "gpu-7/4711", .draining = false},
          JobsQuery{.state = JobState::leased, .after_seq = 41, .limit = 100},
          DeadQuery{.after_seq = 41, .limit = 100},
          QueueQuery{.limit = 100, .skip = 256},
          StatsQuery{},
          Backup{.dir = "/backup/monday"},
          RunsQuery{.after = "nightly", .limit = 100},
          ShareRun{.run = "nightly", .names = {"bob@lab", "web/eve"}, .shared = false, .submitter = "ada"},
          FileQuery{.run = "nightly", .label = "relu/a", .hash = sha256("source")}};
}

inline JobRow job_row() {
  return {.job = job(),
          .label = "relu/fast_triton",
          .author = "ada",
          .worker = "gpu-7/4711",
          .build_started_ms = 1'760'000'003'000};
}
inline LaneRow lane_row() {
  return {.needs = requirements(),
          .priority = Priority::low,
          .submitter = "ada@lab",
          .queued = 1'000'000,
          .oldest_ms = 1'760'000'000'000,
          .served = true,
          .paused = true};
}

inline FileReply file_reply() {
  return {.name = "relu.py", .hash = sha256("source"), .bytes = std::string("source")};
}

inline std::vector<ClientReply> client_replies() {
  return {SubmitAck{.jobs = {{.acceptance = Acceptance::reused,
                              .seq = 42,
                              .state = JobState::leased,
                              .reason = "known",
                              .retry_after_ms = 250}}},
          StatusReply{.jobs = {{.seq = 42,
                                .state = JobState::finished,
                                .attempt = 2,
                                .verdict = "passed",
                                .served = true,
                                .why = WaitReason::behind,
                                .position = 3,
                                .ahead = 17,
                                .until_ms = 1'760'000'000'500,
                                .worker = "gpu-7/4711",
                                .build_started_ms = 1'760'000'003'000,
                                .builds_extensions = true}}},
          RunReply{.rows = {run_row()}, .more = true},
          BoardReply{.rows = {leaderboard_row()}, .last_key = std::string("k\0y", 3), .more = true},
          BrokerReply{.version = "0.1.0",
                      .queued = 5,
                      .leased = 3,
                      .workers = {{.worker = "gpu-7/4711",
                                   .devices = {device()},
                                   .running = 3,
                                   .last_seen_ms = 1'760'000'002'000,
                                   .labels = {"nvlink"},
                                   .draining = true,
                                   .backends = {Backend::triton, Backend::cuda},
                                   .quarantined = {"NVIDIA H200: 3 processes are left"},
                                   .builds_for = {device()},
                                   .built_count = 17,
                                   .building = 2,
                                   .build_started_ms = 1'760'000'003'000}},
                      .has_keys = true},
          Refused{.reason = "run is empty"},
          ActionReply{.jobs = {{.seq = 42, .done = true, .state = JobState::finished, .reason = "it has a verdict"}}},
          Done{},
          JobsReply{.jobs = {job_row()}, .last_seq = 42, .more = true},
          QueueReply{.lanes = {lane_row()}, .waiting = 7, .more = true},
          StatsReply{.metrics = {{.name = "kq_jobs_finished_total", .labels = {{"verdict", "passed"}}, .value = 17}}},
          RunsReply{.runs = {{.run = "nightly", .submitter = "ada@lab", .submitted_at_ms = 1'760'000'000'000}},
                    .more = true},
          file_reply()};
}

inline std::vector<WorkerRequest> worker_requests() {
  return {Hello{.worker = "gpu-7/4711",
                .epoch = 1ull << 63,
                .devices = {device()},
                .credit = 16,
                .evaluator = "kq-evaluator/3",
                .labels = {"nvlink"},
                .backends = {Backend::triton, Backend::cuda},
                .quarantined = {"NVIDIA H200: 3 processes are left"},
                .builds_for = {device()}},
          Heartbeat{.epoch = 9,
                    .leases = {lease_id()},
                    .builds = {{.lease = lease_id(), .ms = 14'000, .extensions = true}},
                    .early = true},
          ResultBatch{.epoch = 9,
                      .results = {{lease_id(), result(passed())},
                                  {lease_id(), result(suspect())},
                                  {lease_id(), result(wrong_answer())}},
                      .errors = {{lease_id(), "the judge died"}}},
          Goodbye{.epoch = 9},
          BuildResult{.epoch = 9, .build = lease_id(), .object = build_object(), .message = "too large"}};
}

inline std::vector<WorkerReply> worker_replies() {
  return {Welcome{.heartbeat_ms = 1'000, .lease_ms = 10'000},
          LeaseBatch{.epoch = 9,
                     .leases = {{.id = lease_id(),
                                 .run = "nightly",
                                 .submission = submission(),
                                 .blobs = {blob()},
                                 .device = device(),
                                 .object = build_object()}}},
          ResultAck{.leases = {lease_id()}},
          Unknown{},
          Refused{.reason = "evaluator differs"},
          Revoke{.leases = {lease_id()}},
          BuildBatch{.epoch = 9,
                     .builds = {{.id = lease_id(),
                                 .run = "nightly",
                                 .submission = submission(),
                                 .blobs = {blob()},
                                 .device = device(),
                                 .object = build_object()}}}};
}

inline std::vector<JudgeRequest> judge_requests() {
  return {Plan{.id = 7,
               .fresh_calibrator = false,
               .calibrator = 2,
               .fresh_reference = false,
               .backend = Backend::cuda,
               .trials = {.correctness = 7,
                          .warmup = 3,
                          .timed = 100,
                          .baseline = Baseline::compile,
                          .profile = Profiler::ncu,
                          .need_extensions = true,
                          .streams = Streams::joined,
                          .graphs = Graphs::allow},
               .rtol = 0.01,
               .atol = 0.001,
               .limits = {.load_limit_ms = 1,
                          .first_launch_limit_ms = 8,
                          .call_limit_ms = 2,
                          .call_limit_factor = 3.5,
                          .bursts = Bursts::always,
                          .burst_below_ns = 20'001,
                          .timed_budget_ms = 6,
                          .window_bytes_max = 4,
                          .host_bytes_max = 5},
               .workloads = {{"n=*"}, {"large"}},
               .truth = truth_rule(),
               .certifies = true,
               .constant_passes = true},
          ChildExited{.role = ChildRole::build, .wait_status = -9}, WarmUpPageShared{}};
}

inline std::vector<JudgeReply> judge_replies() {
  return {JudgeReady{.device = device()}, Report{.id = 7,
                                                 .verdict = suspect(),
                                                 .samples = samples(),
                                                 .error = "none",
                                                 .reference_usable = true,
                                                 .disagreement = "none",
                                                 .trials_us = 640'125,
                                                 .waited_us = 1'250,
                                                 .cases = result().cases,
                                                 .certificate = certificate(),
                                                 .wants_own_kernels = true}};
}

}  // namespace kq::examples
