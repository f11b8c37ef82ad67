#include "producer/submit/replaced_rows.h"

#include <map>

namespace kq::producer {

std::vector<std::string> replaced_rows(const JobSource& source, const ReadRows& read) {
  std::vector<std::string> sentences;
  if (source.job_count > kLookedAtJobsMax) return sentences;
  std::map<std::string, std::string> problems;  // by label
  std::vector<std::string> labels;
  const auto visited = source.each([&](PackedJob&& job) {
    labels.push_back(job.submission.label);
    problems.emplace(job.submission.label, job.submission.problem.name);
    return Expected<void>();
  });
  if (!visited) return sentences;
  const auto was_read = read(labels, [&](const RunRow& row) {
    const Submission& known = row.entry.submission;
    const auto next = problems.find(known.label);
    if (next == problems.end() || next->second == known.problem.name) return;
    sentences.push_back("run " + source.run + ": the row " + known.label + " has a kernel for " + known.problem.name +
                        ", which one for " + next->second + " replaces; kq show " + std::to_string(row.entry.seq) +
                        " shows the former one; other files need other labels or another run");
  });
  if (!was_read) sentences.clear();
  return sentences;
}

}  // namespace kq::producer
