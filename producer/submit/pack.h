// Makes Submissions from Candidates, and batches that fit into a message from Submissions.
//
// Packing reads each file to validate and hash it, and keeps only the hash. The file is read again when its batch is
// sent, so memory stays small however large a sweep is. A file that changes between both is noticed by its hash.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/messages.h"
#include "producer/formats/candidate.h"

namespace kq::producer {

// A Submission with references to its files.
struct PackedJob {
  Submission submission;
  std::vector<FileRef> files;                  // the files of submission.files in their order, and then the problem
  std::vector<std::string> header_settings{};  // Candidate::taken
};

class Packer {
 public:
  // Returns the job of a candidate, or nothing where the candidate is invalid, and adds every mistake to `mistakes`. A
  // mistake in a problem is reported for its first candidate only.
  std::optional<PackedJob> pack(const Candidate& candidate, std::vector<std::string>& mistakes);

 private:
  std::optional<PackedJob> make_job(const Candidate& candidate, std::vector<std::string>& mistakes);
  // `is_model`: the problem defines Model and get_inputs.
  std::optional<Hash> check_problem(const FileRef& problem, bool is_model, std::vector<std::string>& mistakes);

  std::map<std::filesystem::path, std::optional<Hash>> problems_;  // by path; no value: the file is no valid problem
};

// Returns the job with the label and salt of a repetition. Repetitions count from 1: the first keeps its label, and the
// others get "#2", "#3" ... as suffixes of label and salt. A `salt` that is not empty makes every one of them a new
// job.
std::string repeated_label(const std::string& label, std::uint32_t repetition);
PackedJob repeated(const PackedJob& job, std::uint32_t repetition, const std::string& salt);

// Returns a batch of as many jobs from the front as fit into kSubmitJobsMax, kSubmitBytesMax and
// kSubmitContentBytesMax, with their blobs. Fails where not even one job fits or a file has changed.
Expected<SubmitBatch> next_batch(const std::string& run, std::span<const PackedJob> jobs);

// Returns a batch of some jobs, given by their indices in `batch`, with the blobs that they need.
SubmitBatch part_of(const SubmitBatch& batch, std::span<const std::size_t> jobs);

}  // namespace kq::producer
