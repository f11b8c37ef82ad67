// Fills a store with finished jobs in the form in which a broker writes them, for scripts/bench dump and for
// tests/browser. Each job has a source of its own. Some jobs passed and some failed, and their messages have quotes,
// newlines and other characters that readers of CSV may get wrong.
//
//   dump_rows STORE ROWS
#include <charconv>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "core/codec/codec.h"
#include "core/records.h"
#include "store/keys.h"
#include "store/rocks/rocks_store.h"

namespace {

using namespace kq;

constexpr std::size_t kRowsPerCommit = 5'000;
constexpr std::size_t kSourceBytes = 2'000;
constexpr const char* kRun = "bench";

std::vector<std::int64_t> times_ns(std::mt19937_64& random) {
  std::vector<std::int64_t> samples_ns(Trials{}.timed);
  for (std::int64_t& ns : samples_ns) ns = std::uniform_int_distribution<std::int64_t>(1'000, 50'000'000)(random);
  return samples_ns;
}

Verdict verdict(const Samples& samples, Sequence seq) {
  if (seq % 4 == 0) {
    Evidence evidence;
    evidence.stage = Stage::run;
    evidence.message = "RuntimeError: shapes, \"quoted\"\nand a second line, größer, =1+1";
    evidence.hint = "see the traceback";
    return ended(VerdictName::runtime_error, std::move(evidence));
  }
  Measurement measurement{.method = "attested",
                          .submission = summarise(samples.submission_ns),
                          .reference = summarise(samples.reference_ns),
                          .overhead_ns = 143'250.5};
  measurement.drift_ns = 12.25;
  measurement.attested_ns = measurement.submission.median_ns;
  measurement.event_ns = measurement.submission.median_ns - 0.125;
  return Passed{measurement, {.trials_passed = 27, .max_abs_err = 1e-6, .max_rel_err = 3.0517578125e-5}};
}

// Returns a result with every field that a worker on a GPU sets.
Result judged(Sequence seq, std::mt19937_64& random) {
  Result result;
  const Samples samples{.submission_ns = times_ns(random), .reference_ns = times_ns(random)};
  result.verdict = verdict(samples, seq);
  if (measurement_of(result.verdict) != nullptr) result.samples = samples;
  result.device = {.kind = DeviceKind::cuda,
                   .model = "NVIDIA H200",
                   .uuid = "GPU-0123",
                   .arch = "sm_90",
                   .memory_bytes = 150'754'820'096};
  result.worker = "lab7 4711";
  result.times = {.build_ms = 1'234, .build_cached = seq % 2 == 0, .run_ms = 777, .trials_us = 412'345};
  result.software = {"0.1.0", "3.12.3", "2.11.0", "3.6.0", "13.0", "7", to_hex(sha256("packages"))};
  result.sandbox = "uid,user,pid,mount,ipc,net,rlimits";
  result.toolchain = {.compiler = "nvcc 13.0.88, g++ 12.2.0, mold", .flags = "-O3 --use_fast_math -arch=sm_90a"};
  result.host = {.name = "lab7",
                 .cpu = "AMD EPYC 9654 96-Core Processor",
                 .cores = 192,
                 .governor = "performance",
                 .kernel = "6.8.0-45-generic",
                 .distro = "Debian GNU/Linux 12 (bookworm)",
                 .libc = "glibc 2.36",
                 .driver = "580.65.06",
                 .container = "docker",
                 .scheduler = "slurm",
                 .scheduled_as = "184467"};
  result.conditions = Conditions{.sm_clock_mhz = 1'980,
                                 .memory_clock_mhz = 3'201,
                                 .temperature_c = 41,
                                 .power_w = 322.5,
                                 .throttle = "none",
                                 .foreign = std::vector<GpuProcess>{}};
  return result;
}

// Returns a source of 2 KB that differs from those of other jobs, as kernels of a language model do.
std::string source_of(std::string_view label, std::mt19937_64& random) {
  std::string text = "# " + std::string(label) + "\nimport torch\nimport triton\nimport triton.language as tl\n\n";
  while (text.size() < kSourceBytes) {
    const std::string number = std::to_string(random() % 1'000'000);
    text += "def kernel_" + number + "(x, block=" + std::to_string(16u << (random() % 7)) +
            "):\n    return torch.relu(x) + " + number + "  # a step\n";
  }
  return text;
}

void put(std::vector<store::Write>& writes, Sequence seq, std::mt19937_64& random) {
  Submission submission;
  char label[32];
  std::snprintf(label, sizeof label, "k/%09llu", static_cast<unsigned long long>(seq));
  submission.label = label;
  submission.author = "ada";
  submission.tags = {{"model", "m1"}, {"turn", std::to_string(seq % 7)}};
  const std::string source = source_of(submission.label, random);
  submission.files = {{"submission.py", sha256(source)}};
  writes.push_back({store::Family::blob, store::hash_key(submission.files.front().hash), source});
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
  const Result result = judged(seq, random);
  writes.push_back({store::Family::state, store::sequence_key(seq), encode(job)});
  writes.push_back({store::Family::body, store::sequence_key(seq), encode(submission)});
  writes.push_back({store::Family::result, store::sequence_key(seq), encode(result)});
  writes.push_back({store::Family::run, store::run_key(kRun, submission.label), encode(ShortRunEntry{seq})});
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t row_count = 0;
  if (argc == 3) std::from_chars(argv[2], argv[2] + std::char_traits<char>::length(argv[2]), row_count);
  if (row_count == 0) {
    std::fprintf(stderr, "usage: dump_rows STORE ROWS\n");
    return 2;
  }
  auto store = store::open_rocks_store(argv[1], store::OpenMode::read_write);
  std::mt19937_64 random(1);
  std::vector<store::Write> writes;
  for (Sequence seq = 1; store && seq <= row_count; ++seq) {
    put(writes, seq, random);
    if (seq % kRowsPerCommit != 0 && seq != row_count) continue;
    // A broker on the store gives later jobs the numbers from here on.
    writes.push_back({store::Family::meta, std::string(store::kNextSequenceKey), store::sequence_key(seq + 1)});
    if (const auto committed = (*store)->commit(writes); !committed) store = failure(committed.error());
    writes.clear();
  }
  if (store) return 0;
  std::fprintf(stderr, "dump_rows: %s\n", store.error().message.c_str());
  return 3;
}
