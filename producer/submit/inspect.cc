#include "producer/submit/inspect.h"

#include <glob.h>

#include <algorithm>
#include <map>
#include <memory>

#include "producer/client/sentences.h"
#include "producer/formats/formats.h"
#include "producer/formats/single_file.h"

namespace kq::producer {
namespace {

namespace fs = std::filesystem;

// Returns the name of the run of an input: "monday" for "sweeps/monday/" and "sweeps/monday/submissions.jsonl", and
// "add" for "add.py".
std::string run_name_of(const fs::path& input) {
  std::error_code wrong;
  fs::path path = fs::absolute(input, wrong).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();
  if (fs::is_directory(path, wrong)) return path.filename().string();
  if (path.filename() == "submissions.jsonl") return path.parent_path().filename().string();
  return path.stem().string();
}

// Returns the folder below which the paths of kernels are their labels: a single folder itself, else the deepest folder
// that holds all inputs that exist. Returns an empty path where that is the root of the file system.
fs::path common_folder(const std::vector<fs::path>& inputs) {
  fs::path common;
  for (const fs::path& input : inputs) {
    std::error_code wrong;
    fs::path path = fs::absolute(input, wrong).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();
    if (inputs.size() == 1 && fs::is_directory(path, wrong)) return path;
    if (!fs::exists(path, wrong)) continue;  // a mistake, which must not change the labels of the others
    const fs::path folder = path.parent_path();
    if (common.empty()) common = folder;
    const auto [end, ignored] = std::mismatch(common.begin(), common.end(), folder.begin(), folder.end());
    fs::path shared;
    for (auto part = common.begin(); part != end; ++part) shared /= *part;
    common = shared;
  }
  return common == common.root_path() ? fs::path() : common;
}

// A kernel among several is empty where a model answered nothing. It must count as a failure, because the share of
// right kernels would be too high if it were missing. An empty source is no valid submission, so this comment is
// submitted in its place.
constexpr const char* kEmptySource = "# the file was empty\n";

// Calls `visit` with each candidate of all inputs in their order, and with its number, counted from 0. `others` gets
// mistakes and notes.
using VisitCandidate = std::function<void(std::uint32_t ordinal, const Candidate& candidate)>;
void each_candidate(const SubmitRequest& request, const VisitCandidate& visit, const CandidateSink& others,
                    std::vector<RecognisedInput>* recognised) {
  std::uint32_t ordinal = 0;
  std::size_t empty_count = 0;
  std::error_code ignored;
  const bool is_alone = request.inputs.size() == 1 && fs::is_regular_file(request.inputs.front(), ignored) &&
                        is_named_as_kernel(request.inputs.front());
  CandidateSink sink = others;
  sink.candidate = [&](Candidate candidate) {
    FileRef& entry = candidate.files.front();
    if (!is_alone && entry.name.ends_with(".py") && is_blank(entry)) {
      entry.text = kEmptySource;
      ++empty_count;
    }
    if (ordinal < kSubmissionsMax) visit(ordinal, candidate);
    ++ordinal;
  };
  InputOptions options = request.options;
  options.label_root = common_folder(request.inputs);
  // A pattern such as *.py also matches the file of --problem. Named alone, the file is a kernel like any other.
  const bool is_one_of_several = request.inputs.size() > 1;
  for (const fs::path& input : request.inputs) {
    if (is_one_of_several && is_the_problem(input, options)) {
      others.note(input.string() + " is the problem and no kernel; it is left out");
      continue;
    }
    if (is_one_of_several && is_package_marker(input)) {
      others.note(input.string() + " defines nothing and is no kernel; it is left out");
      continue;
    }
    const auto known = find_candidates(input, request.input_format, options, sink);
    if (known && recognised != nullptr) {
      const bool is_stdin = !options.input_name.empty();  // the name of its file is kq's own
      recognised->push_back({is_stdin ? options.input_name : input.string(), std::string(known->format->name),
                             is_stdin ? "its text says so" : known->reason});
    }
    if (!known) others.mistake(known.error().message);
  }
  if (empty_count > 0) {
    others.note(
        counted(empty_count, "kernel") + (empty_count == 1 ? " is" : " are") +
        " empty, and sent as a comment that says so: " + (empty_count == 1 ? "it will fail" : "they will fail"));
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

  // Returns the numbers of the candidates that are no jobs.
  std::vector<std::uint32_t> run() {
    const CandidateSink others{
        .candidate = {},
        .mistake = [this](std::string sentence) { mistake(std::move(sentence)); },
        .left_out = [this] { ++inspected_.left_out_count; },
        .note = [this](std::string sentence) { inspected_.notes.push_back(std::move(sentence)); }};
    each_candidate(
        request_, [this](std::uint32_t ordinal, const Candidate& candidate) { check(ordinal, candidate); }, others,
        &inspected_.recognised);
    if (candidate_count_ * request_.repeat > kSubmissionsMax) {
      mistake(std::to_string(candidate_count_ * request_.repeat) + " jobs, at most " + std::to_string(kSubmissionsMax) +
              " go into one call");
    }
    refuse_same_labels();
    join_equal_mistakes();
    std::sort(bad_.begin(), bad_.end());
    bad_.erase(std::unique(bad_.begin(), bad_.end()), bad_.end());
    inspected_.left_out_count += bad_.size();
    inspected_.source.job_count = (candidate_count_ - bad_.size()) * request_.repeat;
    return std::move(bad_);
  }

 private:
  // Returns whether the place of a candidate is a line of JSON Lines, such as "all.jsonl:3".
  static bool is_line(const std::string& where) {
    const std::size_t colon = where.rfind(':');
    return colon != std::string::npos && colon + 1 < where.size() &&
           where.find_first_not_of("0123456789", colon + 1) == std::string::npos;
  }

  // A mistake in an option is found again with each file, so each sentence is reported only once.
  void mistake(std::string sentence) {
    if (std::find(inspected_.mistakes.begin(), inspected_.mistakes.end(), sentence) != inspected_.mistakes.end())
      return;
    ++inspected_.mistake_count;
    if (inspected_.mistakes.size() < kMistakesKept) inspected_.mistakes.push_back(std::move(sentence));
  }

  // Joins the sentences that say the same of several files, such as of each kernel of a folder without a problem.
  void join_equal_mistakes() {
    const std::size_t kept = inspected_.mistakes.size();
    inspected_.mistakes = joined_mistakes(inspected_.mistakes);
    inspected_.mistake_count -= kept - inspected_.mistakes.size();
  }

  void check(std::uint32_t ordinal, const Candidate& candidate) {
    ++candidate_count_;
    std::vector<std::string> mistakes;
    if (!packer_.pack(candidate, mistakes)) bad_.push_back(ordinal);
    for (std::string& sentence : mistakes) mistake(std::move(sentence));
    for (std::uint32_t repetition = 1; repetition <= request_.repeat; ++repetition) {
      labels_.push_back({std::hash<std::string>{}(repeated_label(candidate.label, repetition)), ordinal});
    }
  }

  // Refuses candidates whose labels repeat. A label names one job of its run, so a second job would silently replace
  // the first one. Labels with equal hashes are compared in a further pass.
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
                "; labels must differ within a run: " +
                (is_line(candidate.where) && is_line(first->second)
                     ? "give one of the lines another id"
                     : "name one of them with kq: id=NAME at its head, or with id in its line of JSON Lines") +
                ", or submit it under another --run");
        bad_.push_back(ordinal);
        return;
      }
    };
    each_candidate(request_, compare,
                   {.candidate = {}, .mistake = [](const std::string&) {}, .note = [](const std::string&) {}}, nullptr);
  }

  const SubmitRequest& request_;
  Inspected& inspected_;
  Packer packer_;
  std::size_t candidate_count_ = 0;
  std::vector<LabelOf> labels_;
  std::vector<std::uint32_t> bad_;
};

Expected<void> second_pass(const SubmitRequest& request, const std::vector<std::uint32_t>& bad, std::size_t job_count,
                           const VisitJob& visit) {
  Packer packer;
  Expected<void> done;
  std::size_t visited_count = 0;
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
      ++visited_count;
    }
  };
  const CandidateSink silent{.candidate = {},
                             .mistake = [](const std::string&) {},
                             .note = [](const std::string&) {},
                             .stopped = [&] { return !done; }};
  each_candidate(request, hand_out, silent, nullptr);
  if (done && visited_count != job_count)
    return bad_input("the input changed while it was being submitted; submit again");
  return done;
}

}  // namespace

std::vector<std::string> joined_mistakes(const std::vector<std::string>& mistakes) {
  constexpr std::string_view kColon = ": ";
  std::map<std::string_view, std::vector<std::string_view>> places_of;  // by what is said
  for (const std::string_view one : mistakes) {
    const std::size_t colon = one.find(kColon);
    if (colon != std::string_view::npos) places_of[one.substr(colon)].push_back(one.substr(0, colon));
  }
  std::vector<std::string> joined;
  for (const std::string& one : mistakes) {
    const std::size_t colon = one.find(kColon);
    const auto found =
        colon == std::string::npos ? places_of.end() : places_of.find(std::string_view(one).substr(colon));
    if (found == places_of.end()) {
      joined.push_back(one);
      continue;
    }
    const std::vector<std::string_view>& places = found->second;
    if (places.front().data() != one.data()) continue;  // its first sentence names all places
    std::string text;
    const std::size_t shown = places.size() <= kPlacesShown + 1 ? places.size() : kPlacesShown;
    for (std::size_t i = 0; i < shown; ++i)
      text += (i == 0 ? "" : i + 1 == places.size() ? " and " : ", ") + std::string(places[i]);
    if (shown < places.size()) text += " and " + std::to_string(places.size() - shown) + " more";
    joined.push_back(text + one.substr(colon));
  }
  return joined;
}

Inspected inspect(const SubmitRequest& request) {
  Inspected inspected;
  std::string& run = inspected.source.run;
  run = request.run;
  if (run.empty() && !request.inputs.empty()) {
    run = request.options.input_name.empty() ? run_name_of(request.inputs.front()) : "stdin";
    if (!request.run_owner.empty()) run.insert(0, request.run_owner + "/");
  }
  inspected.source.submitter = request.submitter;
  if (const auto wrong = name_error(run); wrong && !(run.empty() && request.inputs.empty())) {
    inspected.mistakes.push_back("the run's name '" + run + "' " + *wrong + "; say --run NAME");
    ++inspected.mistake_count;
  }
  auto bad = std::make_shared<std::vector<std::uint32_t>>(FirstPass(request, inspected).run());
  inspected.source.each = [request, bad, job_count = inspected.source.job_count](const VisitJob& visit) {
    return second_pass(request, *bad, job_count, visit);
  };
  return inspected;
}

Expected<std::vector<std::string>> expanded_input(const std::string& argument) {
  std::error_code ignored;
  if (argument.find_first_of("*?[") == std::string::npos || fs::exists(argument, ignored))
    return std::vector<std::string>{argument};
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(argument.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  if (paths.empty()) return bad_input("nothing matches '" + argument + "'");
  return paths;
}

}  // namespace kq::producer
