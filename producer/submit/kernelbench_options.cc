#include "producer/submit/kernelbench_options.h"

#include <algorithm>
#include <charconv>

#include "core/limits.h"
#include "producer/client/when.h"

namespace kq::producer {
namespace {

namespace fs = std::filesystem;

using Complaint = std::optional<std::string>;

// What several words say together.
struct Gathered {
  std::string run_name, runs_dir = "runs", kernel, reference;
  std::optional<std::uint32_t> problem_id;
};

Complaint number(const std::string& value, std::uint32_t max, std::uint32_t& into) {
  const auto [end, wrong] = std::from_chars(value.data(), value.data() + value.size(), into);
  if (wrong == std::errc{} && end == value.data() + value.size() && into <= max) return std::nullopt;
  return "must be a number from 0 to " + std::to_string(max) + ", got '" + value + "'";
}

// "(1, 10)", "[1,2,3]", "1,2".
Complaint numbers(std::string value, std::vector<std::uint32_t>& into) {
  std::erase_if(value, [](char c) { return std::string_view(" ()[]").find(c) != std::string_view::npos; });
  for (std::size_t start = 0; start < value.size();) {
    const std::size_t end = std::min(value.find(',', start), value.size());
    std::uint32_t& one = into.emplace_back();
    if (end > start && number(value.substr(start, end - start), 1'000'000, one))
      return "must be numbers like 1,2,3, got '" + value + "'";
    if (end == start) into.pop_back();
    start = end + 1;
  }
  return std::nullopt;
}

Complaint level(SubmitRequest& request, Gathered&, const std::string& value) {
  return number(value, 1'000, request.options.subset.level.emplace());
}
Complaint subset(SubmitRequest& request, Gathered&, const std::string& value) {
  if (value.find("None") != std::string::npos) return std::nullopt;
  std::vector<std::uint32_t> ends;
  if (const auto wrong = numbers(value, ends)) return wrong;
  if (ends.size() != 2 || ends[0] > ends[1])
    return "must be the first and the last problem like (1,10), got '" + value + "'";
  request.options.subset.range = {ends[0], ends[1]};
  return std::nullopt;
}
Complaint problem_ids(SubmitRequest& request, Gathered&, const std::string& value) {
  std::vector<std::uint32_t> ids;
  if (value == "None") return std::nullopt;
  if (const auto wrong = numbers(value, ids)) return wrong;
  request.options.subset.problems = {ids.begin(), ids.end()};
  return std::nullopt;
}
Complaint correct_trials(SubmitRequest& request, Gathered&, const std::string& value) {
  std::uint32_t& n = request.options.correctness_n.emplace();
  if (const auto wrong = number(value, kTrialsMax, n)) return wrong;
  return n == 0 ? Complaint("must be at least 1, got 0") : std::nullopt;
}
Complaint perf_trials(SubmitRequest& request, Gathered&, const std::string& value) {
  return number(value, kTrialsMax, request.options.timed_n.emplace());
}
Complaint measure(SubmitRequest& request, Gathered&, const std::string& value) {
  if (value != "True" && value != "False" && value != "true" && value != "false")
    return "must be True or False, got '" + value + "'";
  if (value == "False" || value == "false") request.options.timed_n = 0;
  return std::nullopt;
}
Complaint samples(SubmitRequest& request, Gathered&, const std::string& value) {
  return number(value, 1'000'000, request.options.subset.samples_n.emplace());
}
// All of its backends are Python, and each text tells what it compiles: triton, load_inline, or nothing that kq need
// know of.
Complaint backend(SubmitRequest& request, Gathered&, const std::string& value) {
  if (value == "triton") request.options.backend = Backend::triton;
  for (const char* known : {"triton", "cuda", "tilelang", "cute", "thunderkittens", "hip", "torch"}) {
    if (value == known) return std::nullopt;
  }
  return "must be one of cuda, triton, tilelang, cute, thunderkittens, hip, got '" + value + "'";
}
// Of a batch there, where a slow neighbour takes of it as well; of each job here.
Complaint timeout(SubmitRequest& request, Gathered&, const std::string& value) {
  const auto limit = parse_limit(value);
  if (!limit) return limit.error().message;
  request.options.time_limit_ms = *limit;
  return std::nullopt;
}
Complaint precision(SubmitRequest& request, Gathered&, const std::string& value) {
  request.options.precision = parse_enum<Precision>(value);
  return request.options.precision ? std::nullopt : Complaint("must be one of fp32, fp16, bf16, got '" + value + "'");
}
// What it says is so here in any case.
Complaint agreed(SubmitRequest&, Gathered&, const std::string&) {
  return std::nullopt;
}

struct Word {
  std::string_view key;
  Complaint (*apply)(SubmitRequest& request, Gathered& gathered, const std::string& value);  // null: passed over
  std::string_view why = {};                                                                 // it is passed over
};
// clang-format off
constexpr Word kWords[] = {
    {"run_name", [](SubmitRequest&, Gathered& gathered, const std::string& value) { gathered.run_name = value; return Complaint(); }},
    {"runs_dir", [](SubmitRequest&, Gathered& gathered, const std::string& value) { gathered.runs_dir = value; return Complaint(); }},
    {"kernel_src_path", [](SubmitRequest&, Gathered& gathered, const std::string& value) { gathered.kernel = value; return Complaint(); }},
    {"ref_arch_src_path", [](SubmitRequest&, Gathered& gathered, const std::string& value) { gathered.reference = value; return Complaint(); }},
    {"problem_id", [](SubmitRequest&, Gathered& gathered, const std::string& value) { return number(value, 1'000'000, gathered.problem_id.emplace()); }},
    {"level", level},
    {"subset", subset},
    {"problem_ids", problem_ids},
    {"num_correct_trials", correct_trials},
    {"num_perf_trials", perf_trials},
    {"measure_performance", measure},
    {"num_samples_per_problem", samples},
    {"backend", backend},
    {"timeout", timeout},
    {"precision", precision},
    {"dataset_src", agreed},
    {"ref_origin", agreed},
    {"eval_mode", agreed},
    {"verbose", agreed},
    {"gpu", nullptr, "which GPU is --gpu MODEL, as its worker names it"},
    {"dataset_name", nullptr, "problems are read from --problems DIR or FILE.jsonl"},
    {"gpu_arch", nullptr, "a worker compiles for its own GPU"},
    {"kernel_eval_build_dir", nullptr, "the workers have a build cache of their own"},
    {"build_cache", nullptr, "the workers have a build cache of their own"},
    {"num_cpu_workers", nullptr, "the workers say how many builds run at once"},
    {"num_gpu_devices", nullptr, "every GPU of every worker takes jobs"},
    {"timing_method", nullptr, "time is taken in one way (docs/design/integrity.md)"},
    {"pass_at_k_values", nullptr, "it goes to kq-dump and kq-leaderboard, as --pass-at-k"},
    {"check_kernel", nullptr, "the static guard always looks"},
};
// clang-format on

Complaint apply(const std::string& key, const std::string& value, SubmitRequest& request, Gathered& gathered,
                std::vector<std::string>& passed_over) {
  std::string known;
  for (const Word& word : kWords) {
    known += (known.empty() ? "" : ", ") + std::string(word.key);
    if (word.key != key) continue;
    if (word.apply == nullptr) {
      passed_over.push_back(key + "=" + value + " is passed over: " + std::string(word.why));
      return std::nullopt;
    }
    const Complaint wrong = word.apply(request, gathered, value);
    return wrong ? Complaint(key + " " + *wrong) : std::nullopt;
  }
  return "'" + key + "=" + value + "' is neither a path nor an option of KernelBench's scripts; those known are " +
         known;
}

// "level1/19" of the checkout that the command is called in.
void take_problem(const Gathered& gathered, SubmitRequest& request) {
  if (!gathered.reference.empty()) request.options.problem = gathered.reference;
  if (!gathered.problem_id) return;
  const auto level = request.options.subset.level;
  if (!gathered.kernel.empty() && level) {
    request.options.problem = "level" + std::to_string(*level) + "/" + std::to_string(*gathered.problem_id);
    if (!request.options.problems) request.options.problems = ".";
  } else {
    request.options.subset.problems.insert(*gathered.problem_id);
  }
}

}  // namespace

bool is_kernelbench_word(const std::string& word) {
  const std::size_t sign = word.find('=');
  std::error_code ignored;
  return sign != std::string::npos && sign > 0 && word.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == sign &&
         !fs::exists(word, ignored);
}

Expected<std::vector<std::string>> apply_kernelbench_words(const std::vector<std::string>& words,
                                                           SubmitRequest& request) {
  Gathered gathered;
  std::vector<std::string> passed_over;
  for (const std::string& word : words) {
    const std::size_t sign = word.find('=');
    if (const auto wrong = apply(word.substr(0, sign), word.substr(sign + 1), request, gathered, passed_over))
      return bad_input(*wrong);
  }
  if (request.run.empty()) request.run = gathered.run_name;
  if (request.inputs.empty() && !gathered.kernel.empty()) request.inputs.emplace_back(gathered.kernel);
  if (request.inputs.empty() && !gathered.run_name.empty())
    request.inputs.push_back(fs::path(gathered.runs_dir) / gathered.run_name);
  take_problem(gathered, request);
  return passed_over;
}

}  // namespace kq::producer
