// Fills a store with finished jobs, as a broker would have left them, for bench_dump.py: rows of every ending, with texts that a reader may
// stumble over.
//
//   dump_rows STORE ROWS
#include <charconv>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "core/codec.h"
#include "core/records.h"
#include "store/keys.h"
#include "store/rocks_store.h"

namespace {

using namespace kq;

constexpr std::size_t kRowsPerCommit = 5'000;
constexpr const char* kRun = "bench";

Statistics times(std::mt19937_64& random) {
  std::vector<std::int64_t> samples_ns(20);
  for (std::int64_t& ns : samples_ns) ns = std::uniform_int_distribution<std::int64_t>(1'000, 50'000'000)(random);
  return summarise(samples_ns);
}

Verdict verdict(std::mt19937_64& random, Sequence seq) {
  if (seq % 4 == 0) {
    Evidence evidence;
    evidence.stage = Stage::run;
    evidence.message = "RuntimeError: shapes, \"quoted\"\nand a second line, größer, =1+1";
    evidence.hint = "see the traceback";
    return ended(VerdictName::runtime_error, std::move(evidence));
  }
  Measurement measurement{.method = "attested", .submission = times(random), .reference = times(random), .overhead_ns = 143'250.5};
  measurement.drift_ns = 12.25;
  measurement.attested_ns = measurement.submission.median_ns;
  measurement.event_ns = measurement.submission.median_ns - 0.125;
  return Passed{measurement, {.trials_passed = 27, .max_abs_err = 1e-6, .max_rel_err = 3.0517578125e-5}};
}

void put(std::vector<Write>& writes, Sequence seq, std::mt19937_64& random) {
  Submission submission;
  char label[32];
  std::snprintf(label, sizeof label, "k/%09llu", static_cast<unsigned long long>(seq));
  submission.label = label;
  submission.author = "ada";
  submission.tags = {{"model", "m1"}, {"turn", std::to_string(seq % 7)}};
  submission.files = {{"submission.py", sha256(submission.label)}};
  submission.problem.name = "level1/" + std::to_string(1 + seq % 100) + "_name";
  submission.problem.file = std::to_string(1 + seq % 100) + "_name.py";
  submission.problem.hash = sha256(submission.problem.name);
  JobRecord job;
  job.seq = seq;
  job.key = sha256("key " + submission.label);
  job.state = JobState::finished;
  job.attempt = 1;
  job.submitted_at_ms = 1'760'000'000'000 + static_cast<std::int64_t>(seq);
  job.leased_at_ms = job.submitted_at_ms + 1'500;
  job.finished_at_ms = job.submitted_at_ms + 4'000;
  job.submitter = "ada@lab";
  Result result;
  result.verdict = verdict(random, seq);
  result.device = {.kind = DeviceKind::cuda, .model = "NVIDIA H200", .uuid = "GPU-0123", .arch = "sm_90", .memory_bytes = 150'754'820'096};
  result.worker = "lab7 4711";
  result.times = {.build_ms = 1'234, .build_cached = seq % 2 == 0, .run_ms = 777};
  result.software = {"0.1.0", "3.12.3", "2.11.0", "3.6.0", "13.0"};
  result.sandbox = "uid,user,pid,mount,ipc,net,rlimits";
  writes.push_back({Family::state, sequence_key(seq), encode(job)});
  writes.push_back({Family::body, sequence_key(seq), encode(submission)});
  writes.push_back({Family::result, sequence_key(seq), encode(result)});
  writes.push_back({Family::run, run_key(kRun, submission.label), encode(ShortRunEntry{seq})});
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t rows_n = 0;
  if (argc == 3) std::from_chars(argv[2], argv[2] + std::char_traits<char>::length(argv[2]), rows_n);
  if (rows_n == 0) {
    std::fprintf(stderr, "usage: dump_rows STORE ROWS\n");
    return 2;
  }
  auto store = open_rocks_store(argv[1], OpenMode::read_write);
  std::mt19937_64 random(1);
  std::vector<Write> writes;
  for (Sequence seq = 1; store && seq <= rows_n; ++seq) {
    put(writes, seq, random);
    if (seq % kRowsPerCommit != 0 && seq != rows_n) continue;
    if (const auto committed = (*store)->commit(writes); !committed) store = failure(committed.error());
    writes.clear();
  }
  if (store) return 0;
  std::fprintf(stderr, "dump_rows: %s\n", store.error().message.c_str());
  return 3;
}
