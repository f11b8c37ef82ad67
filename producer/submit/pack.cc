#include "producer/submit/pack.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/blob.h"
#include "core/limits.h"
#include "producer/formats/io_contract.h"
#include "producer/formats/recognise.h"

namespace kq::producer {
namespace {

using Mistakes = std::vector<std::string>;

// Returns the texts of the files in their order, or nothing where one cannot be read.
std::optional<std::vector<std::string>> read_all(const std::vector<FileRef>& files, Mistakes& mistakes) {
  std::vector<std::string> texts;
  for (const FileRef& file : files) {
    Expected<std::string> text = contents(file);
    if (!text) {
      mistakes.push_back(text.error().message);
      return std::nullopt;
    }
    texts.push_back(std::move(*text));
  }
  return texts;
}

// Returns what is wrong with a candidate as far as it is known before any file is read, or nothing.
std::optional<std::string> shape_error(const Candidate& candidate) {
  if (const auto wrong = name_error(candidate.label)) return candidate.where + ": the label " + *wrong;
  if (candidate.backend == Backend::eval_program) return std::nullopt;  // the problem says what a submission is
  const FileRef& entry = candidate.files.front();
  if (!entry.name.ends_with(".py") && !is_device_code(entry.name)) {
    return entry.path.string() + ": a kernel is a .py, .cu, .ptx or .cubin file";
  }
  if (candidate.backend) {
    const std::string wrong = backend_error(entry.name, *candidate.backend);
    if (!wrong.empty()) return entry.path.string() + ": " + wrong;
  }
  const bool contract_is_a_file = is_device_code(entry.name) && !candidate.files.back().text;
  if (is_file(entry.path) && contract_is_a_file && !is_file(candidate.files.back().path)) {
    return entry.path.string() + " needs " + candidate.files.back().name +
           " beside it: the arguments and the launch of its kernel";
  }
  return std::nullopt;
}

Submission submission_of(const Candidate& candidate, const std::vector<std::string>& texts, const Hash& problem) {
  Submission submission;
  submission.label = candidate.label;
  submission.author = candidate.author;
  submission.tags = candidate.tags;
  submission.backend = candidate.backend.value_or(recognise_backend(candidate.files.front().name, texts.front()));
  for (std::size_t i = 0; i < texts.size(); ++i)
    submission.files.push_back({candidate.files[i].name, sha256(texts[i])});
  submission.problem.name = candidate.problem_name;
  submission.problem.file = candidate.problem.name;
  submission.problem.hash = problem;
  submission.problem.precision = candidate.precision;
  submission.problem.rtol = candidate.rtol;
  if (!candidate.workloads.empty()) submission.problem.workloads = candidate.workloads;
  submission.problem.atol = candidate.atol;
  submission.problem.device_count = candidate.device_count;
  submission.device = candidate.device;
  submission.gpu_model = candidate.gpu_model;
  submission.trials = candidate.trials;
  submission.truth = candidate.truth;
  submission.priority = candidate.priority;
  submission.not_before_ms = candidate.not_before_ms;
  submission.deadline_ms = candidate.deadline_ms;
  submission.time_limit_ms = candidate.time_limit_ms;
  submission.labels = candidate.labels;
  std::sort(submission.labels.begin(), submission.labels.end());
  submission.labels.erase(std::unique(submission.labels.begin(), submission.labels.end()), submission.labels.end());
  return submission;
}

const Hash& hash_of(const PackedJob& job, std::size_t file) {
  return file < job.submission.files.size() ? job.submission.files[file].hash : job.submission.problem.hash;
}

// Reads the files of a job again and returns the blobs that are not in `known`.
Expected<std::vector<Blob>> load_blobs(const PackedJob& job, const std::set<Hash>& known, Compressor& compressor) {
  std::vector<Blob> blobs;
  for (std::size_t i = 0; i < job.files.size(); ++i) {
    const Hash& hash = hash_of(job, i);
    const auto same = [&](const Blob& blob) { return blob.hash == hash; };
    if (known.contains(hash) || std::any_of(blobs.begin(), blobs.end(), same)) continue;
    Expected<std::string> text = contents(job.files[i]);
    if (!text) return failure(text.error());
    if (sha256(*text) != hash) {
      return bad_input(job.files[i].path.string() + " changed while it was being submitted; submit again");
    }
    blobs.push_back(packed(compressor, hash, std::move(*text)));
  }
  return blobs;
}

}  // namespace

std::optional<PackedJob> Packer::pack(const Candidate& candidate, Mistakes& mistakes) {
  const std::size_t mistakes_before = mistakes.size();
  auto job = make_job(candidate, mistakes);
  // Where a line of another file names the kernel, each sentence starts with that line, because it must be corrected.
  if (candidate.where == candidate.files.front().path.string()) return job;
  for (std::size_t i = mistakes_before; i < mistakes.size(); ++i) {
    if (!mistakes[i].starts_with(candidate.where)) mistakes[i] = candidate.where + ": " + mistakes[i];
  }
  return job;
}

std::optional<PackedJob> Packer::make_job(const Candidate& candidate, Mistakes& mistakes) {
  if (const auto wrong = shape_error(candidate)) {
    mistakes.push_back(*wrong);
    return std::nullopt;
  }
  const auto texts = read_all(candidate.files, mistakes);
  const bool is_model = candidate.backend != Backend::eval_program;
  const auto problem = check_problem(candidate.problem, is_model, mistakes);
  if (!texts || !problem) return std::nullopt;

  PackedJob job{submission_of(candidate, *texts, *problem), candidate.files, candidate.header_settings};
  job.files.push_back(candidate.problem);
  const std::size_t mistakes_before = mistakes.size();
  const FileRef& contract = candidate.files.back();
  if (contract.name.ends_with(".json")) {
    const Mistakes wrong = io_contract_mistakes(contract.path.string(), texts->back(), job.submission.backend);
    mistakes.insert(mistakes.end(), wrong.begin(), wrong.end());
  } else if (job.submission.backend == Backend::multi_kernel) {
    mistakes.push_back(
        candidate.where +
        ": backend multi_kernel needs a .json file beside it with entry_point, the function that is called");
  }
  if (const Expected<void> valid = validate(job.submission); !valid) {
    mistakes.push_back(candidate.where + ": " + valid.error().message);
  }
  if (mistakes.size() > mistakes_before) return std::nullopt;
  return job;
}

std::optional<Hash> Packer::check_problem(const FileRef& problem, bool is_model, Mistakes& mistakes) {
  const auto [place, is_new] = problems_.try_emplace(problem.path / problem.name);
  if (!is_new) return place->second;
  const Expected<std::string> text = contents(problem);
  if (!text) {
    mistakes.push_back(text.error().message);
    return std::nullopt;
  }
  std::string missing;
  for (const std::string& phrase : is_model ? missing_from_problem(*text) : std::vector<std::string>())
    missing += (missing.empty() ? "" : ", ") + phrase;
  if (!missing.empty()) {
    mistakes.push_back(problem.path.string() +
                       ": a problem defines class Model and get_inputs; missing here: " + missing);
    return std::nullopt;
  }
  place->second = sha256(*text);
  return place->second;
}

std::string repeated_label(const std::string& label, std::uint32_t repetition) {
  return repetition > 1 ? label + "#" + std::to_string(repetition) : label;
}

PackedJob repeated(const PackedJob& job, std::uint32_t repetition, const std::string& salt) {
  PackedJob again = job;
  again.submission.salt = salt;
  again.submission.label = repeated_label(job.submission.label, repetition);
  if (repetition > 1) again.submission.salt += "#" + std::to_string(repetition);
  return again;
}

Expected<SubmitBatch> next_batch(const std::string& run, std::span<const PackedJob> jobs) {
  SubmitBatch batch;
  batch.run = run;
  std::set<Hash> known;
  Compressor compressor;
  std::size_t bytes = 0;
  std::size_t content = 0;  // bytes of the same files, unpacked
  for (const PackedJob& job : jobs.first(std::min(jobs.size(), kSubmitJobsMax))) {
    Expected<std::vector<Blob>> blobs = load_blobs(job, known, compressor);
    if (!blobs) return failure(blobs.error());
    std::size_t more = 0;
    std::size_t more_content = 0;
    for (const Blob& blob : *blobs) {
      more += blob.bytes.size();
      more_content += content_bytes(blob.packing, blob.bytes);
    }
    const bool fits = bytes + more <= kSubmitBytesMax && content + more_content <= kSubmitContentBytesMax;
    if (!fits && !batch.jobs.empty()) return batch;
    if (!fits) {
      return bad_input(job.submission.label + ": its files have " + std::to_string(more) +
                       " bytes together, a submission may have " + std::to_string(kSubmitBytesMax));
    }
    bytes += more;
    content += more_content;
    for (Blob& blob : *blobs) {
      known.insert(blob.hash);
      batch.blobs.push_back(std::move(blob));
    }
    batch.jobs.push_back(job.submission);
  }
  return batch;
}

SubmitBatch part_of(const SubmitBatch& batch, std::span<const std::size_t> jobs) {
  SubmitBatch part{.run = batch.run, .jobs = {}, .blobs = {}, .submitter = batch.submitter};
  std::set<Hash> needed;
  for (const std::size_t at : jobs) {
    const Submission& job = batch.jobs[at];
    part.jobs.push_back(job);
    needed.insert(job.problem.hash);
    for (const SourceFile& file : job.files) needed.insert(file.hash);
  }
  for (const Blob& blob : batch.blobs) {
    if (needed.contains(blob.hash)) part.blobs.push_back(blob);
  }
  return part;
}

}  // namespace kq::producer
