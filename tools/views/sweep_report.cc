#include "tools/views/sweep_report.h"

#include <algorithm>

#include "producer/submit/output.h"
#include "tools/cli/text.h"
#include "tools/views/board_formats.h"

namespace kq::tools {
namespace {

const std::string kSchema = "kq.sweep/1";

producer::Json number(std::size_t value) {
  return {static_cast<std::int64_t>(value)};
}

std::string jobs(std::size_t n) {
  return std::to_string(n) + (n == 1 ? " job" : " jobs");
}

std::string outcome_name(const RunRow& row) {
  return std::string(row.result ? to_string(name_of(row.result->verdict)) : to_string(row.job.state));
}

// Returns the first line of the evidence; kq results --failed prints all of it.
std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n') + 1);
}

}  // namespace

SweepReport::SweepReport(const producer::SubmitSummary& submitted, Expectations* expectations)
    : run_(submitted.run),
      accepted_count_(submitted.count(Acceptance::accepted)),
      reused_count_(submitted.count(Acceptance::reused)),
      expectations_(expectations),
      builder_(submitted.run) {
  for (const producer::SubmittedJob& job : submitted.jobs) labels_.insert(job.label);
}

bool SweepReport::add(const RunRow& row) {
  if (!labels_.contains(row.entry.submission.label)) return false;
  const std::string ending = outcome_name(row);
  ++count_by_outcome_[ending];
  if (ending != to_string(VerdictName::passed)) {
    ++not_passed_count_;
    if (explanations_.size() < kExplainedMax) explanations_.push_back(first_line(evidence_text(row)));
  }
  builder_.add(row);
  if (expectations_ != nullptr) {
    if (auto sentence = expectations_->disagreement(row)) disagreements_.push_back(std::move(*sentence));
  }
  return true;
}

void SweepReport::finish() {
  board_ = builder_.finish();
  if (expectations_ == nullptr) return;
  for (std::string& sentence : expectations_->missing()) disagreements_.push_back(std::move(sentence));
}

std::string SweepReport::explained() const {
  std::string text;
  for (const std::string& explanation : explanations_) text += "  " + explanation;
  if (not_passed_count_ > explanations_.size())
    text += "  and " + std::to_string(not_passed_count_ - explanations_.size()) + " more\n";
  return text.empty() ? "" : "not passed:\n" + text + "\n";
}

std::string SweepReport::text(bool colours) const {
  std::vector<std::vector<std::string>> cells;
  for (const auto& [ending, count] : count_by_outcome_) cells.push_back({ending, std::to_string(count)});
  std::string text = table({{"verdict", false, colours ? outcome_colour : nullptr}, {"jobs", true}}, cells) + '\n' +
                     explained() + leaderboard_table(board_);
  if (expectations_ == nullptr) return text;
  if (disagreements_.empty()) return text + "\nevery job ended as expected\n";
  text += "\n" + jobs(disagreements_.size()) + " not as expected:\n";
  for (const std::string& sentence : disagreements_) text += "  " + sentence + '\n';
  return text;
}

std::string SweepReport::json(const producer::EndOfCall& end, int exit_code) const {
  producer::JsonObject verdicts;
  for (const auto& [ending, count] : count_by_outcome_) verdicts.emplace_back(ending, number(count));
  producer::JsonObject object{{"schema", {kSchema}},
                              {"run", {run_}},
                              {"jobs_n", number(labels_.size())},
                              {"accepted_n", number(accepted_count_)},
                              {"reused_n", number(reused_count_)},
                              {"verdicts", {std::move(verdicts)}},
                              {"leaderboard", leaderboard_json(board_)}};
  if (expectations_ != nullptr) {
    producer::JsonArray sentences;
    for (const std::string& sentence : disagreements_) sentences.push_back({sentence});
    object.emplace_back("disagreements", producer::Json{std::move(sentences)});
  }
  for (auto& member : producer::end_members(end, exit_code)) object.push_back(std::move(member));
  return producer::to_text({std::move(object)}) + '\n';
}

std::string sweep_json(const std::string& run, const producer::EndOfCall& end, int exit_code) {
  producer::JsonObject object{{"schema", {kSchema}},
                              {"run", run.empty() ? producer::Json{nullptr} : producer::Json{run}}};
  for (auto& member : producer::end_members(end, exit_code)) object.push_back(std::move(member));
  return producer::to_text({std::move(object)}) + '\n';
}

std::string submitted_text(const producer::SubmitSummary& submitted) {
  const std::size_t accepted = submitted.count(Acceptance::accepted);
  const std::size_t reused = submitted.count(Acceptance::reused);
  const std::size_t refused = submitted.count(Acceptance::refused);
  const bool is_finished = std::ranges::all_of(
      submitted.jobs, [](const producer::SubmittedJob& job) { return job.ack.state == JobState::finished; });
  if (accepted + refused == 0 && reused > 0)
    return "reused all " + jobs(reused) + (is_finished ? ", whose results are known" : ", which are not all finished");
  std::string text = "accepted " + std::to_string(accepted) + ", reused " + std::to_string(reused);
  if (refused > 0) text += ", refused " + std::to_string(refused);
  return text;
}

}  // namespace kq::tools
