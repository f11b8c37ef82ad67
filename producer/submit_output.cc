#include "producer/submit_output.h"

#include <map>

#include "producer/json.h"
#include "producer/sentences.h"

namespace kq {
namespace {

constexpr std::size_t kKeyDigits = 12;

Json text(std::string_view value) {
  return Json{std::string(value)};
}

std::string key_prefix(const Submission& submission) {
  return to_hex(submission_key(submission)).substr(0, kKeyDigits);
}

std::string device_text(const Submission& submission) {
  return submission.gpu_model.empty() ? std::string(to_string(submission.device)) : submission.gpu_model;
}

std::string shell_quoted(const std::string& word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/-+:@,=";
  if (word.find_first_not_of(plain) == std::string::npos && !word.starts_with('-')) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string object_text(const std::string& run, JsonArray jobs) {
  return to_text(Json{JsonObject{{"run", text(run)}, {"jobs", Json{std::move(jobs)}}}}) + "\n";
}

}  // namespace

std::string job_numbers(const SubmitSummary& summary) {
  std::string lines;
  for (const SubmittedJob& job : summary.jobs) {
    if (job.ack.seq != 0) lines += std::to_string(job.ack.seq) + "\n";
  }
  return lines;
}

std::string counts_text(const SubmitSummary& summary) {
  return "accepted " + std::to_string(summary.count(Acceptance::accepted)) + ", reused " +
         std::to_string(summary.count(Acceptance::reused)) + ", refused " +
         std::to_string(summary.count(Acceptance::refused)) + "; run " + summary.run;
}

std::string summary_json(const SubmitSummary& summary, const WaitOutcome* outcome) {
  std::map<Sequence, const JobStatus*> heard;
  if (outcome != nullptr) {
    for (const JobStatus& status : outcome->jobs) heard[status.seq] = &status;
  }
  JsonArray jobs;
  for (const SubmittedJob& job : summary.jobs) {
    const bool refused = job.ack.seq == 0;
    const auto status = heard.find(job.ack.seq);
    const bool known = !refused && status != heard.end();
    const JobState state = known ? status->second->state : job.ack.state;
    JsonObject object{{"id", refused ? Json{nullptr} : Json{static_cast<std::int64_t>(job.ack.seq)}},
                      {"label", text(job.label)},
                      {"state", refused ? Json{nullptr} : text(to_string(state))},
                      {"acceptance", text(to_string(job.ack.acceptance))},
                      {"reason", job.ack.reason.empty() ? Json{nullptr} : text(job.ack.reason)}};
    if (known)
      object.emplace_back("verdict", state == JobState::finished ? text(status->second->verdict) : Json{nullptr});
    jobs.push_back(Json{std::move(object)});
  }
  return object_text(summary.run, std::move(jobs));
}

std::string dry_run_text(const Prepared& prepared) {
  std::string lines;
  for (const PackedJob& job : prepared.jobs) {
    const Submission& submission = job.submission;
    lines += submission.label + "\t" + std::string(to_string(submission.backend)) + "\t" + device_text(submission) +
             "\t" + key_prefix(submission) + "\n";
  }
  return lines;
}

std::string dry_run_json(const Prepared& prepared) {
  JsonArray jobs;
  for (const PackedJob& job : prepared.jobs) {
    jobs.push_back(Json{JsonObject{{"label", text(job.submission.label)},
                                   {"backend", text(to_string(job.submission.backend))},
                                   {"device", text(to_string(job.submission.device))},
                                   {"gpu", text(job.submission.gpu_model)},
                                   {"key", text(to_hex(submission_key(job.submission)))}}});
  }
  return object_text(prepared.run, std::move(jobs));
}

std::string resume_text(std::size_t unfinished, const std::string& run) {
  return counted(unfinished, "accepted job") + (unfinished == 1 ? " keeps" : " keep") +
         " running; resume: kq results " + shell_quoted(run) + " --wait";
}

}  // namespace kq
