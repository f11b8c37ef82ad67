#include "producer/submit/output.h"

#include <algorithm>

#include "producer/client/json.h"
#include "producer/client/row_text.h"
#include "producer/client/sentences.h"

namespace kq::producer {
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

}  // namespace

std::string counts_text(const SubmitSummary& summary) {
  return "accepted " + std::to_string(summary.count(Acceptance::accepted)) + ", reused " +
         std::to_string(summary.count(Acceptance::reused)) + ", refused " +
         std::to_string(summary.count(Acceptance::refused)) + "; run " + summary.run;
}

JsonObject end_members(const EndOfCall& end, int exit_code) {
  const auto array = [](const std::vector<std::string>& sentences) {
    JsonArray texts;
    for (const std::string& sentence : sentences) texts.push_back(Json{valid_utf8(sentence)});
    return Json{std::move(texts)};
  };
  return {{"left_out", Json{static_cast<std::int64_t>(end.left_out_count)}},
          {"notes", array(end.notes)},
          {"errors", array(end.errors)},
          {"exit_code", Json{std::int64_t{exit_code}}}};
}

void NumberRanges::add(Sequence seq) {
  ++job_count_;
  if (further_count_ == 0 && !ranges_.empty() && ranges_.back().last + 1 == seq) {
    ranges_.back().last = seq;
  } else if (further_count_ == 0 && ranges_.size() < kRangesMax) {
    ranges_.push_back({seq, seq});
  } else {
    ++further_count_;
  }
}

std::string NumberRanges::text() const {
  std::string text;
  for (const Range& range : ranges_) {
    text += (text.empty() ? "" : ", ") + std::to_string(range.first);
    if (range.last != range.first) text += "-" + std::to_string(range.last);
  }
  if (text.empty()) return text;
  if (further_count_ > 0) text += " and " + std::to_string(further_count_) + " more";
  return (job_count_ == 1 ? "job " : "jobs ") + text;
}

void JobList::open() {
  if (is_open_) return;
  is_open_ = true;
  print_("{\"run\": " + (run_.empty() ? "null" : json_quoted(run_)) + ", \"jobs\": [");
}

void JobList::add(const std::string& run, Json job) {
  if (run_.empty()) run_ = run;
  open();
  if (run != run_) {
    JsonObject members = *job.object();
    members.emplace_back("run", text(run));
    job = Json{std::move(members)};
  }
  print_((has_jobs_ ? ", " : "") + to_text(job));
  has_jobs_ = true;
}

void JobList::end(const JsonObject& members) {
  open();
  std::string ending = "]";
  for (const auto& [name, value] : members) ending += ", " + json_quoted(name) + ": " + to_text(value);
  print_(ending + "}\n");
}

Json job_json(const SubmittedJob& job, const std::optional<JobEnd>& end) {
  const bool refused = job.ack.seq == 0;
  const JobState state = end ? end->state : job.ack.state;
  const std::string& reason = end ? end->reason : job.ack.reason;
  JsonObject object{{"id", refused ? Json{nullptr} : Json{static_cast<std::int64_t>(job.ack.seq)}},
                    {"label", text(job.label)},
                    {"state", refused ? Json{nullptr} : text(to_string(state))},
                    {"acceptance", text(to_string(job.ack.acceptance))},
                    {"reason", reason.empty() ? Json{nullptr} : text(reason)}};
  if (end) {
    object.emplace_back("verdict", state == JobState::finished ? text(end->verdict) : Json{nullptr});
    object.insert(object.end(), end->members.begin(), end->members.end());
  }
  return Json{std::move(object)};
}

Json spooled_json(const PackedJob& job) {
  return Json{JsonObject{{"id", Json{nullptr}},
                         {"label", text(job.submission.label)},
                         {"state", Json{nullptr}},
                         {"acceptance", text("spooled")},
                         {"reason", Json{nullptr}}}};
}

std::string dry_run_line(const PackedJob& job) {
  const Submission& submission = job.submission;
  std::vector<std::string> settings = job.header_settings;
  if (!std::ranges::any_of(settings, [](const std::string& one) { return one.starts_with("problem="); }))
    settings.insert(settings.begin(), "problem=" + submission.problem.name);
  std::string line = submission.label + "\t" + std::string(to_string(submission.backend)) + "\t" +
                     device_text(submission) + "\t" + key_prefix(submission);
  for (const std::string& setting : settings) line += (&setting == &settings.front() ? "\t" : " ") + one_line(setting);
  return line + "\n";
}

Json dry_run_json(const PackedJob& job) {
  JsonArray settings;
  for (const std::string& setting : job.header_settings) settings.push_back(text(setting));
  return Json{JsonObject{{"label", text(job.submission.label)},
                         {"problem", text(job.submission.problem.name)},
                         {"backend", text(to_string(job.submission.backend))},
                         {"device", text(to_string(job.submission.device))},
                         {"gpu", text(job.submission.gpu_model)},
                         {"key", text(to_hex(submission_key(job.submission)))},
                         {"taken", Json{std::move(settings)}}}};
}

std::string recognised_text(const RecognisedInput& recognised) {
  return recognised.input + " is read as " + recognised.format + ": " + recognised.reason;
}

std::string sent_event(const SubmitSummary& summary, std::size_t job_count) {
  const auto number = [](std::size_t n) { return Json{static_cast<std::int64_t>(n)}; };
  return to_text(Json{JsonObject{{"event", text("sent")},
                                 {"run", text(summary.run)},
                                 {"jobs", number(job_count)},
                                 {"accepted", number(summary.count(Acceptance::accepted))},
                                 {"reused", number(summary.count(Acceptance::reused))},
                                 {"refused", number(summary.count(Acceptance::refused))}}}) +
         "\n";
}

std::string wait_event(const Tally& tally) {
  const auto number = [](std::size_t n) { return Json{static_cast<std::int64_t>(n)}; };
  JsonObject verdicts;
  for (const auto& [verdict, n] : tally.by_verdict) verdicts.emplace_back(verdict, number(n));
  return to_text(Json{JsonObject{{"event", text("waiting")},
                                 {"jobs", number(tally.total)},
                                 {"queued", number(tally.queued)},
                                 {"running", number(tally.running)},
                                 {"finished", number(tally.finished)},
                                 {"verdicts", Json{std::move(verdicts)}}}}) +
         "\n";
}

std::string sending_text(std::size_t answered_count, std::size_t job_count) {
  const std::string total = std::to_string(job_count), done = std::to_string(answered_count);
  const std::string percent = std::to_string(job_count == 0 ? 100 : 100 * answered_count / job_count);
  return "[" + std::string(total.size() - std::min(total.size(), done.size()), ' ') + done + "/" + total + "] " +
         std::string(3 - std::min<std::size_t>(3, percent.size()), ' ') + percent + "% sent";
}

std::string resume_text(std::size_t unfinished, const std::string& run, const std::string& broker) {
  const std::string where = broker.empty() ? "" : " --broker " + shell_quoted(broker);
  return counted(unfinished, "accepted job") + (unfinished == 1 ? " stays" : " stay") +
         " with the broker; resume: kq results " + shell_quoted(run) + " --wait" + where +
         "; cancel: kq ctl cancel --run " + shell_quoted(run) + where;
}

}  // namespace kq::producer
