// Candidates -> Submissions, and Submissions -> batches that fit into a message.
//
// Packing reads each file once to judge and hash it and keeps only the hash; the bytes are read again when their batch
// is sent. So memory stays flat however large a sweep is. A file that changes in between is noticed by its hash.
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

// A Submission and where the bytes of its blobs are.
struct PackedJob {
  Submission submission;
  std::vector<FileRef> files;        // of submission.files, in its order, then of the problem
  std::vector<std::string> taken{};  // Candidate::taken
};

class Packer {
 public:
  // Nothing when the candidate is no submission; every complaint is added to `mistakes`. What is wrong with a problem
  // is said once, however many candidates it has.
  std::optional<PackedJob> pack(const Candidate& candidate, std::vector<std::string>& mistakes);

 private:
  std::optional<PackedJob> judged(const Candidate& candidate, std::vector<std::string>& mistakes);
  std::optional<Hash> check_problem(const FileRef& problem, std::vector<std::string>& mistakes);

  std::map<std::filesystem::path, std::optional<Hash>> problems_;  // by path; nothing: no problem
};

// The same job again: `repetition` counts from 1, the first keeps its label, the others get "#2", "#3" ... and a salt
// of their own. `salt` is empty, or makes every one of them new.
std::string repeated_label(const std::string& label, std::uint32_t repetition);
PackedJob repeated(const PackedJob& job, std::uint32_t repetition, const std::string& salt);

// The next batch: as many jobs from the front as fit into kSubmitJobsMax, kSubmitBytesMax and kSubmitContentBytesMax,
// at least one, with their blobs.
Expected<SubmitBatch> next_batch(const std::string& run, std::span<const PackedJob> jobs);

// Some of a batch's jobs, by their places in it, with the blobs they need: to be sent again.
SubmitBatch part_of(const SubmitBatch& batch, std::span<const std::size_t> jobs);

}  // namespace kq::producer
