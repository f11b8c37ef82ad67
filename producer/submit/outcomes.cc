#include "producer/submit/outcomes.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "producer/client/row_text.h"
#include "producer/client/sentences.h"

namespace kq::producer {
namespace {

constexpr std::size_t kListedTogether = 4'096;  // jobs whose rows are in memory at a time

bool is_passed(const WaitList& waited_jobs, const WaitList::Job& job) {
  return waited_jobs.verdict_of(job) == to_string(VerdictName::passed);
}

// Returns the first finished jobs that passed, or those that did not.
std::vector<const SubmittedJob*> first_jobs(const SubmitSummary& summary, WaitList& waited_jobs, bool passed) {
  std::vector<const SubmittedJob*> jobs;
  for (const SubmittedJob& job : summary.jobs) {
    const WaitList::Job* known = job.ack.seq != 0 ? waited_jobs.find(job.ack.seq) : nullptr;
    if (known == nullptr || known->standing != WaitList::Standing::finished) continue;
    if (is_passed(waited_jobs, *known) != passed) continue;
    jobs.push_back(&job);
    if (jobs.size() == kSentencesShown) break;
  }
  return jobs;
}

// Adds the texts of these finished jobs in their order. Another submission may have given the row of a job another job
// since; then the row tells nothing about the job.
void add_texts(const std::vector<const SubmittedJob*>& jobs, WaitList& waited_jobs, const ReadRows& read, bool whole,
               std::vector<std::string>& texts) {
  std::map<std::string, std::pair<Sequence, std::string>> text_of;  // by label
  std::vector<std::string> labels;
  for (const SubmittedJob* job : jobs) labels.push_back(job->label);
  (void)read(labels, [&](const RunRow& row) {
    std::string text = finished_text(row);
    text.resize(whole ? text.find_last_not_of('\n') + 1 : text.find('\n'));
    text_of[row.entry.submission.label] = {row.entry.seq, std::move(text)};
  });
  for (const SubmittedJob* job : jobs) {
    const auto found = text_of.find(job->label);
    if (found == text_of.end()) continue;
    const auto& [seq, text] = found->second;
    if (seq == job->ack.seq) {
      texts.push_back(text);
    } else {
      texts.push_back(printable(job->label) + ": " + waited_jobs.verdict_of(*waited_jobs.find(job->ack.seq)) +
                      "; job " + std::to_string(seq) + " of another submission has its row in the run now");
    }
  }
}

// Returns what a job's verdict adds to its JSON object, with the names and units of kq-dump's columns. Without a
// verdict all are null.
JsonObject members_of(const Verdict* verdict) {
  const Evidence none;
  const Evidence* evidence = verdict != nullptr ? evidence_of(*verdict) : nullptr;
  const Evidence& told = evidence != nullptr ? *evidence : none;
  const Measurement* measured = verdict != nullptr ? measurement_of(*verdict) : nullptr;
  const auto number = [&](double (*value)(const Measurement&)) {
    const double found = measured != nullptr ? value(*measured) : 0;
    return found > 0 ? Json{found} : Json{nullptr};  // an infinity is written as null, too
  };
  const auto text = [](const std::string& found) { return found.empty() ? Json{nullptr} : Json{valid_utf8(found)}; };
  return {{"message", text(told.message)},
          {"place", text(told.place)},
          {"hint", text(told.hint)},
          {"median_us", number([](const Measurement& m) { return m.submission.median_ns / 1e3; })},
          {"noise_us", number([](const Measurement& m) { return submission_noise_ns(m) / 1e3; })},
          {"reference_us", number([](const Measurement& m) { return m.reference.median_ns / 1e3; })},
          {"reference_noise_us", number([](const Measurement& m) { return reference_noise_ns(m) / 1e3; })},
          {"speedup", number(speedup)},
          {"speedup_noise", number(speedup_noise)}};
}

JobEnd end_of(const WaitList::Job& job, const WaitList& waited_jobs) {
  JobEnd end{.state = JobState::queued, .verdict = {}, .members = members_of(nullptr)};
  if (job.standing == WaitList::Standing::running) end.state = JobState::leased;
  if (job.standing != WaitList::Standing::finished) return end;
  end.state = JobState::finished;
  end.verdict = waited_jobs.verdict_of(job);
  return end;
}

// What a row tells of its job.
struct ToldByRow {
  std::string reason;
  JsonObject members;
};
ToldByRow told_by(const Verdict& verdict) {
  const Evidence* evidence = evidence_of(verdict);
  return {.reason = evidence != nullptr ? evidence->reason : "", .members = members_of(&verdict)};
}

void list_part(const std::string& run, std::span<const SubmittedJob> jobs, WaitList& waited_jobs, const ReadRows& read,
               JobList& list) {
  std::vector<std::string> labels;
  for (const SubmittedJob& job : jobs) {
    const WaitList::Job* known = job.ack.seq != 0 ? waited_jobs.find(job.ack.seq) : nullptr;
    if (known != nullptr && known->standing == WaitList::Standing::finished) labels.push_back(job.label);
  }
  // By label and job: another submission may have given a row another job since, which tells nothing about this one.
  std::map<std::pair<std::string, Sequence>, ToldByRow> rows;
  if (!labels.empty()) {
    (void)read(std::move(labels), [&](const RunRow& row) {
      if (row.result) rows.emplace(std::pair(row.entry.submission.label, row.entry.seq), told_by(row.result->verdict));
    });
  }
  for (const SubmittedJob& job : jobs) {
    const WaitList::Job* known = job.ack.seq != 0 ? waited_jobs.find(job.ack.seq) : nullptr;
    if (known == nullptr) {
      list.add(run, job_json(job));
      continue;
    }
    JobEnd end = end_of(*known, waited_jobs);
    if (const auto row = rows.find({job.label, job.ack.seq}); row != rows.end()) {
      end.reason = row->second.reason;
      end.members = row->second.members;
    }
    list.add(run, job_json(job, end));
  }
}

}  // namespace

std::vector<std::string> outcome_texts(const SubmitSummary& summary, WaitList& waited_jobs, const ReadRows& read,
                                       const std::string& place_options) {
  const Tally& tally = waited_jobs.tally();
  const std::string command = "kq results " + shell_quoted(summary.run);
  std::vector<std::string> texts;
  for (const bool passed : {true, false}) {
    const std::size_t count = passed ? tally.passed() : tally.finished - tally.passed();
    if (count == 0) continue;
    const std::size_t told_before = texts.size();
    add_texts(first_jobs(summary, waited_jobs, passed), waited_jobs, read, passed || count <= kWholeEvidenceMax, texts);
    const std::size_t told = texts.size() - told_before;
    if (told == 0 || told >= count) continue;
    texts.push_back("and " + std::to_string(count - told) + " more that " + (passed ? "passed: " : "did not pass: ") +
                    command + (passed ? "" : " --failed") + place_options);
  }
  return texts;
}

std::string next_command(const SubmitSummary& summary, WaitList& waited_jobs, const std::string& place_options) {
  const Tally& tally = waited_jobs.tally();
  const std::string run = shell_quoted(summary.run);
  if (tally.finished == 0) return "";
  if (tally.passed() == tally.finished)
    return "kq results " + run + place_options + " shows the run; kq leaderboard " + run + place_options +
           " its fastest kernels";
  const std::vector<const SubmittedJob*> failed = first_jobs(summary, waited_jobs, false);
  return "kq results " + run + " --failed" + place_options + " shows why; kq show " + run + " " +
         (failed.empty() ? "LABEL" : shell_quoted(failed.front()->label)) + place_options +
         " shows one job, what it printed, and how to measure it again";
}

void list_jobs(const SubmitSummary& summary, WaitList& waited_jobs, const ReadRows& read, JobList& list) {
  const std::span<const SubmittedJob> jobs(summary.jobs);
  for (std::size_t at = 0; at < jobs.size(); at += kListedTogether)
    list_part(summary.run, jobs.subspan(at, std::min(kListedTogether, jobs.size() - at)), waited_jobs, read, list);
}

}  // namespace kq::producer
