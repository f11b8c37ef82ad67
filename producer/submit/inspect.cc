#include "producer/submit/inspect.h"

#include <algorithm>
#include <map>
#include <memory>

#include "producer/formats/formats.h"

namespace kq::producer {
namespace {

namespace fs = std::filesystem;

// "sweeps/monday/" and "sweeps/monday/submissions.jsonl" are the run "monday", "add.py" is "add".
std::string run_name_of(const fs::path& input) {
  std::error_code wrong;
  fs::path path = fs::absolute(input, wrong).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  if (fs::is_directory(path, wrong)) return path.filename().string();
  if (path.filename() == "submissions.jsonl") return path.parent_path().filename().string();
  return path.stem().string();
}

// The candidates of all inputs in their order, counted from 0.
using VisitCandidate = std::function<void(std::uint32_t ordinal, const Candidate& candidate)>;
void each_candidate(const SubmitRequest& request, const VisitCandidate& visit, const Finds& others,
                    std::vector<Recognised>* recognised) {
  std::uint32_t ordinal = 0;
  Finds finds = others;
  finds.candidate = [&](Candidate candidate) {
    if (ordinal < kSubmissionsMax) visit(ordinal, candidate);
    ++ordinal;
  };
  for (const fs::path& input : request.inputs) {
    const auto known = find_candidates(input, request.input_format, request.options, finds);
    if (known && recognised != nullptr)
      recognised->push_back({input.string(), std::string(known->format->name), known->why});
    if (!known) others.mistake(known.error().message);
  }
}

struct LabelOf {
  std::uint64_t hash;
  std::uint32_t ordinal;
  friend auto operator<=>(const LabelOf&, const LabelOf&) = default;
};

class FirstPass {
 public:
  FirstPass(const SubmitRequest& request, Inspected& inspected) : request_(request), inspected_(inspected) {}

  // The ordinals of candidates that are no jobs.
  std::vector<std::uint32_t> run() {
    const Finds others{.candidate = {},
                       .mistake = [this](std::string sentence) { mistake(std::move(sentence)); },
                       .left_out = [this] { ++inspected_.left_out_count; },
                       .note = [this](std::string sentence) { inspected_.notes.push_back(std::move(sentence)); }};
    each_candidate(
        request_, [this](std::uint32_t ordinal, const Candidate& candidate) { judge(ordinal, candidate); }, others,
        &inspected_.recognised);
    if (candidates_n_ * request_.repeat > kSubmissionsMax) {
      mistake(std::to_string(candidates_n_ * request_.repeat) + " jobs, at most " + std::to_string(kSubmissionsMax) +
              " go into one call");
    }
    refuse_same_labels();
    std::sort(bad_.begin(), bad_.end());
    bad_.erase(std::unique(bad_.begin(), bad_.end()), bad_.end());
    inspected_.left_out_count += bad_.size();
    inspected_.source.jobs_n = (candidates_n_ - bad_.size()) * request_.repeat;
    return std::move(bad_);
  }

 private:
  // What is wrong with an option is found again with each file, and told once.
  void mistake(std::string sentence) {
    if (std::find(inspected_.mistakes.begin(), inspected_.mistakes.end(), sentence) != inspected_.mistakes.end())
      return;
    ++inspected_.mistakes_n;
    if (inspected_.mistakes.size() < kMistakesKept) inspected_.mistakes.push_back(std::move(sentence));
  }

  void judge(std::uint32_t ordinal, const Candidate& candidate) {
    ++candidates_n_;
    std::vector<std::string> mistakes;
    if (!packer_.pack(candidate, mistakes)) bad_.push_back(ordinal);
    for (std::string& sentence : mistakes) mistake(std::move(sentence));
    for (std::uint32_t repetition = 1; repetition <= request_.repeat; ++repetition) {
      labels_.push_back({std::hash<std::string>{}(repeated_label(candidate.label, repetition)), ordinal});
    }
  }

  // A label stands for one job of its run, so a second one would take the first one's place unseen. Equal hashes are
  // looked at again.
  void refuse_same_labels() {
    std::sort(labels_.begin(), labels_.end());
    std::vector<std::uint32_t> alike;
    for (std::size_t i = 1; i < labels_.size(); ++i) {
      if (labels_[i].hash == labels_[i - 1].hash)
        alike.insert(alike.end(), {labels_[i - 1].ordinal, labels_[i].ordinal});
    }
    labels_ = {};
    if (alike.empty()) return;
    std::sort(alike.begin(), alike.end());
    std::map<std::string, std::string> places;
    const auto compare = [&](std::uint32_t ordinal, const Candidate& candidate) {
      if (!std::binary_search(alike.begin(), alike.end(), ordinal)) return;
      for (std::uint32_t repetition = 1; repetition <= request_.repeat; ++repetition) {
        const std::string label = repeated_label(candidate.label, repetition);
        const auto [first, is_new] = places.try_emplace(label, candidate.where);
        if (is_new) continue;
        mistake(candidate.where + ": the label '" + label + "' is taken by " + first->second +
                "; labels must differ within a run");
        bad_.push_back(ordinal);
        return;
      }
    };
    each_candidate(request_, compare, {.candidate = {}, .mistake = [](std::string) {}, .note = [](std::string) {}},
                   nullptr);
  }

  const SubmitRequest& request_;
  Inspected& inspected_;
  Packer packer_;
  std::size_t candidates_n_ = 0;
  std::vector<LabelOf> labels_;
  std::vector<std::uint32_t> bad_;
};

Expected<void> second_pass(const SubmitRequest& request, const std::vector<std::uint32_t>& bad, std::size_t jobs_n,
                           const VisitJob& visit) {
  Packer packer;
  Expected<void> done;
  std::size_t visited_n = 0;
  const auto hand_out = [&](std::uint32_t ordinal, const Candidate& candidate) {
    if (!done || std::binary_search(bad.begin(), bad.end(), ordinal)) return;
    std::vector<std::string> mistakes;
    const auto job = packer.pack(candidate, mistakes);
    if (!job) {
      done = bad_input(candidate.where + " changed while it was being submitted: " +
                       (mistakes.empty() ? "it is wrong now" : mistakes.front()));
      return;
    }
    for (std::uint32_t repetition = 1; done && repetition <= request.repeat; ++repetition) {
      done = visit(repeated(*job, repetition, request.salt));
      ++visited_n;
    }
  };
  const Finds silent{
      .candidate = {}, .mistake = [](std::string) {}, .note = [](std::string) {}, .stopped = [&] { return !done; }};
  each_candidate(request, hand_out, silent, nullptr);
  if (done && visited_n != jobs_n) return bad_input("the input changed while it was being submitted; submit again");
  return done;
}

}  // namespace

Inspected inspect(const SubmitRequest& request) {
  Inspected inspected;
  std::string& run = inspected.source.run;
  run = request.run;
  if (run.empty() && !request.inputs.empty()) {
    run = request.options.stand_in.empty() ? run_name_of(request.inputs.front()) : "stdin";
  }
  inspected.source.submitter = request.submitter;
  if (const auto wrong = name_error(run); wrong && !(run.empty() && request.inputs.empty())) {
    inspected.mistakes.push_back("the run's name '" + run + "' " + *wrong + "; say --run NAME");
    ++inspected.mistakes_n;
  }
  auto bad = std::make_shared<std::vector<std::uint32_t>>(FirstPass(request, inspected).run());
  inspected.source.each = [request, bad, jobs_n = inspected.source.jobs_n](const VisitJob& visit) {
    return second_pass(request, *bad, jobs_n, visit);
  };
  return inspected;
}

}  // namespace kq::producer
