#include "producer/submit/replaced_rows.h"

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "producer/client/sentences.h"

namespace kq::producer {

namespace {

constexpr std::size_t kNamesShown = 3;
constexpr const char* kEmptied = "-";  // an author or tag that empties those of the row

// What a row has and the next kernel of its label changes.
struct Names {
  Problem problem;
  std::string author;
  std::map<std::string, std::string> tags;
};

// Rows that are replaced for one reason.
struct Replaced {
  std::size_t row_count = 0;
  std::set<std::string> former;  // names of problems, or authors and tags, a few of them

  void add(const std::set<std::string>& names) {
    ++row_count;
    for (const std::string& name : names) {
      if (former.size() <= kNamesShown) former.insert(name);
    }
  }
  // Returns "2 rows of another problem (gelu, relu)".
  std::string text(const std::string& reason) const {
    std::string names;
    std::size_t shown = 0;
    for (const std::string& name : former)
      names += (names.empty() ? "" : ", ") + (++shown > kNamesShown ? "..." : name);
    return counted(row_count, "row") + " " + reason + " (" + names + ")";
  }
};

class Look {
 public:
  Look(std::string run, const ReadRows& read) : run_(std::move(run)), read_(read) {}

  // Adds a job. Returns false where no further job is looked at.
  bool add(const Submission& next) {
    if (job_count_ == kLookedAtJobsMax) is_cut_ = true;
    if (is_cut_) return false;
    ++job_count_;
    next_.insert_or_assign(next.label, Names{next.problem, next.author, next.tags});
    if (next_.size() == kLookedAtTogether) look();
    return !is_cut_;
  }

  std::optional<std::string> sentence() {
    look();
    if (first_label_.empty()) return std::nullopt;
    std::string text = "run " + run_ + ": this call replaces " + (is_cut_ ? "at least " : "");
    if (problems_.row_count > 0) text += problems_.text("of another problem");
    if (problems_.row_count > 0 && names_.row_count > 0) text += " and ";
    if (names_.row_count > 0) text += names_.text("of another author or with other tags");
    text += ", such as " + first_label_;
    if (problems_.row_count > 0) text += "; kq ctl why " + std::to_string(first_seq_) + " explains that job";
    return text + "; other kernels need other labels or another run";
  }

 private:
  void look() {
    if (next_.empty()) return;
    std::vector<std::string> labels;
    for (const auto& [label, names] : next_) labels.push_back(label);
    const auto was_read = read_(labels, [&](const RunRow& row) {
      const auto next = next_.find(row.entry.submission.label);
      if (next != next_.end()) compare(row, next->second);
    });
    if (!was_read) is_cut_ = true;
    next_.clear();
  }

  void compare(const RunRow& row, const Names& next) {
    const Submission& former = row.entry.submission;
    const bool is_same_name = next.problem.name == former.problem.name;
    if (!is_same_name || next.problem.hash != former.problem.hash) {
      if (problems_.row_count == 0) keep_first(row);
      return problems_.add({former.problem.name + (is_same_name ? " with another file" : "")});
    }
    std::set<std::string> lost;
    // Without an author or tags of its own a kernel keeps those of the row.
    if (!next.author.empty() && next.author != kEmptied && !former.author.empty() && next.author != former.author)
      lost.insert("author " + former.author);
    if (!next.tags.empty() && !next.tags.contains(kEmptied)) {
      for (const auto& [name, value] : former.tags) {
        const auto tag = next.tags.find(name);
        if (tag == next.tags.end() || tag->second != value) lost.insert("tag " + name + "=" + value);
      }
    }
    if (lost.empty()) return;
    if (first_label_.empty()) keep_first(row);
    names_.add(lost);
  }

  void keep_first(const RunRow& row) {
    first_label_ = row.entry.submission.label;
    first_seq_ = row.entry.seq;
  }

  const std::string run_;
  const ReadRows& read_;
  std::map<std::string, Names> next_;  // by label
  std::size_t job_count_ = 0;
  bool is_cut_ = false;  // whether rows may be left that are not looked at
  Replaced problems_;
  Replaced names_;
  std::string first_label_;  // of another problem, where there is one
  Sequence first_seq_ = 0;
};

}  // namespace

ReadRows look_at_rows(Client& client, const std::string& run) {
  const auto queries_left = std::make_shared<std::size_t>(kLookQueriesMax);
  return [&client, run, queries_left](std::vector<std::string> labels, const VisitRow& visit) {
    return each_row_of(client, run, std::move(labels), visit, *queries_left);
  };
}

std::optional<std::string> replaced_rows(const JobSource& source, const ReadRows& read) {
  Look look(source.run, read);
  // A file that has changed ends the visit, and is told when the jobs are sent.
  (void)source.each([&](PackedJob&& job) -> Expected<void> {
    if (look.add(job.submission)) return {};
    return bad_input("enough jobs");
  });
  return look.sentence();
}

std::optional<std::string> replaced_rows(const Prepared& prepared, const ReadRows& read) {
  Look look(prepared.run, read);
  for (const PackedJob& job : prepared.jobs) {
    if (!look.add(job.submission)) break;
  }
  return look.sentence();
}

}  // namespace kq::producer
