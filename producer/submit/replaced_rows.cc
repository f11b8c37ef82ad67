#include "producer/submit/replaced_rows.h"

#include <map>

namespace kq::producer {

namespace {

using Problems = std::map<std::string, std::string>;  // names of problems by label

std::vector<std::string> sentences_of(const std::string& run, const Problems& problems, const ReadRows& read) {
  std::vector<std::string> sentences;
  std::vector<std::string> labels;
  for (const auto& [label, problem] : problems) labels.push_back(label);
  const auto was_read = read(labels, [&](const RunRow& row) {
    const Submission& known = row.entry.submission;
    const auto next = problems.find(known.label);
    if (next == problems.end() || next->second == known.problem.name) return;
    sentences.push_back("run " + run + ": the row " + known.label + " has a kernel for " + known.problem.name +
                        ", which one for " + next->second + " replaces; kq show " + std::to_string(row.entry.seq) +
                        " shows the former one; other files need other labels or another run");
  });
  if (!was_read) sentences.clear();
  return sentences;
}

}  // namespace

std::vector<std::string> replaced_rows(const JobSource& source, const ReadRows& read) {
  if (source.job_count > kLookedAtJobsMax) return {};
  Problems problems;
  const auto visited = source.each([&](PackedJob&& job) {
    problems.emplace(job.submission.label, job.submission.problem.name);
    return Expected<void>();
  });
  return visited ? sentences_of(source.run, problems, read) : std::vector<std::string>();
}

std::vector<std::string> replaced_rows(const Prepared& prepared, const ReadRows& read) {
  if (prepared.jobs.size() > kLookedAtJobsMax) return {};
  Problems problems;
  for (const PackedJob& job : prepared.jobs) problems.emplace(job.submission.label, job.submission.problem.name);
  return sentences_of(prepared.run, problems, read);
}

}  // namespace kq::producer
