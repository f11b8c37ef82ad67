#include "producer/submit/kernelbench_options.h"

#include <algorithm>
#include <charconv>

#include "core/limits.h"
#include "producer/client/when.h"

namespace kq::producer {
namespace {

namespace fs = std::filesystem;

using ErrorText = std::optional<std::string>;

// The options that only have a meaning together with others.
struct ScriptOptions {
  std::string run_name, runs_dir = "runs", kernel, reference;
  std::optional<std::uint32_t> problem_id;
};

ErrorText number(const std::string& value, std::uint32_t max, std::uint32_t& into) {
  const auto [end, wrong] = std::from_chars(value.data(), value.data() + value.size(), into);
  if (wrong == std::errc{} && end == value.data() + value.size() && into <= max) return std::nullopt;
  return "must be a number from 0 to " + std::to_string(max) + ", got '" + value + "'";
}

// Parses "(1, 10)", "[1,2,3]" or "1,2".
ErrorText numbers(std::string value, std::vector<std::uint32_t>& into) {
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

ErrorText level(SubmitRequest& request, ScriptOptions&, const std::string& value) {
  return number(value, 1'000, request.options.subset.level.emplace());
}
ErrorText subset(SubmitRequest& request, ScriptOptions&, const std::string& value) {
  if (value.find("None") != std::string::npos) return std::nullopt;
  std::vector<std::uint32_t> ends;
  if (const auto wrong = numbers(value, ends)) return wrong;
  if (ends.size() != 2 || ends[0] > ends[1])
    return "must be the first and the last problem like (1,10), got '" + value + "'";
  request.options.subset.range = {ends[0], ends[1]};
  return std::nullopt;
}
ErrorText problem_ids(SubmitRequest& request, ScriptOptions&, const std::string& value) {
  std::vector<std::uint32_t> ids;
  if (value == "None") return std::nullopt;
  if (const auto wrong = numbers(value, ids)) return wrong;
  request.options.subset.problems = {ids.begin(), ids.end()};
  return std::nullopt;
}
ErrorText correct_trials(SubmitRequest& request, ScriptOptions&, const std::string& value) {
  std::uint32_t& n = request.options.correctness_trials.emplace();
  if (const auto wrong = number(value, kTrialsMax, n)) return wrong;
  return n == 0 ? ErrorText("must be at least 1, got 0") : std::nullopt;
}
ErrorText perf_trials(SubmitRequest& request, ScriptOptions&, const std::string& value) {
  return number(value, kTrialsMax, request.options.timed_trials.emplace());
}
ErrorText measure(SubmitRequest& request, ScriptOptions&, const std::string& value) {
  if (value != "True" && value != "False" && value != "true" && value != "false")
    return "must be True or False, got '" + value + "'";
  if (value == "False" || value == "false") request.options.timed_trials = 0;
  return std::nullopt;
}
ErrorText samples(SubmitRequest& request, ScriptOptions&, const std::string& value) {
  return number(value, 1'000'000, request.options.subset.samples_per_problem.emplace());
}
// KernelBench's backends are all Python, and kq recognises the backend by the text of each file.
ErrorText backend(SubmitRequest&, ScriptOptions&, const std::string& value) {
  for (const char* known : {"triton", "cuda", "tilelang", "cute", "thunderkittens", "hip", "torch"}) {
    if (value == known) return std::nullopt;
  }
  return "must be one of cuda, triton, tilelang, cute, thunderkittens, hip, got '" + value + "'";
}
// In KernelBench the limit is for a batch of kernels. In kq it is for each job.
ErrorText timeout(SubmitRequest& request, ScriptOptions&, const std::string& value) {
  const auto limit = parse_limit(value);
  if (!limit) return limit.error().message;
  request.options.time_limit_ms = *limit;
  return std::nullopt;
}
ErrorText precision(SubmitRequest& request, ScriptOptions&, const std::string& value) {
  request.options.precision = parse_enum<Precision>(value);
  return request.options.precision ? std::nullopt : ErrorText("must be one of fp32, fp16, bf16, got '" + value + "'");
}
// Accepts an option whose value makes no difference to kq.
ErrorText agreed(SubmitRequest&, ScriptOptions&, const std::string&) {
  return std::nullopt;
}

struct Option {
  std::string_view key;
  ErrorText (*apply)(SubmitRequest& request, ScriptOptions& script, const std::string& value);  // null: ignored
  std::string_view why = {};  // why the option is ignored
};
constexpr Option kOptions[] = {
    {"run_name",
     [](SubmitRequest&, ScriptOptions& script, const std::string& value) {
       script.run_name = value;
       return ErrorText();
     }},
    {"runs_dir",
     [](SubmitRequest&, ScriptOptions& script, const std::string& value) {
       script.runs_dir = value;
       return ErrorText();
     }},
    {"kernel_src_path",
     [](SubmitRequest&, ScriptOptions& script, const std::string& value) {
       script.kernel = value;
       return ErrorText();
     }},
    {"ref_arch_src_path",
     [](SubmitRequest&, ScriptOptions& script, const std::string& value) {
       script.reference = value;
       return ErrorText();
     }},
    {"problem_id", [](SubmitRequest&, ScriptOptions& script,
                      const std::string& value) { return number(value, 1'000'000, script.problem_id.emplace()); }},
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
    {"build_dir_prefix", nullptr, "the workers have a build cache of their own"},
    {"clear_cache", nullptr, "the workers have a build cache of their own"},
    {"build_cache", nullptr, "the workers have a build cache of their own"},
    {"num_cpu_workers", nullptr, "the workers say how many builds run at once"},
    {"num_gpu_devices", nullptr, "every GPU of every worker takes jobs"},
    {"timing_method", nullptr, "time is taken in one way (docs/design/integrity.md)"},
    {"pass_at_k_values", nullptr, "it goes to kq-dump and kq-leaderboard, as --pass-at-k"},
    {"check_kernel", nullptr, "the static guard always looks"},
};

ErrorText apply(const std::string& key, const std::string& value, SubmitRequest& request, ScriptOptions& script,
                std::vector<std::string>& ignored_options) {
  std::string known;
  for (const Option& option : kOptions) {
    known += (known.empty() ? "" : ", ") + std::string(option.key);
    if (option.key != key) continue;
    if (option.apply == nullptr) {
      ignored_options.push_back(key + "=" + value + " is ignored: " + std::string(option.why));
      return std::nullopt;
    }
    const ErrorText wrong = option.apply(request, script, value);
    return wrong ? ErrorText(key + " " + *wrong) : std::nullopt;
  }
  return "'" + key + "=" + value + "' is neither a path nor an option of KernelBench's scripts; those known are " +
         known;
}

// Sets the problem by level and number. A single kernel with a level has the problem "level1/19" of --problems, or of
// the checkout in the working directory.
void take_problem(const ScriptOptions& script, SubmitRequest& request) {
  if (!script.reference.empty()) request.options.problem = script.reference;
  if (!script.problem_id) return;
  const auto level = request.options.subset.level;
  if (!script.kernel.empty() && level) {
    request.options.problem = "level" + std::to_string(*level) + "/" + std::to_string(*script.problem_id);
    if (!request.options.problems) request.options.problems = ".";
  } else {
    request.options.subset.problems.insert(*script.problem_id);
  }
}

}  // namespace

bool is_kernelbench_option(const std::string& argument) {
  const std::size_t sign = argument.find('=');
  std::error_code ignored;
  return sign != std::string::npos && sign > 0 && argument.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == sign &&
         !fs::exists(argument, ignored);
}

Expected<std::vector<std::string>> apply_kernelbench_options(const std::vector<std::string>& arguments,
                                                             SubmitRequest& request) {
  ScriptOptions script;
  std::vector<std::string> ignored_options;
  for (const std::string& argument : arguments) {
    const std::size_t sign = argument.find('=');
    if (const auto wrong = apply(argument.substr(0, sign), argument.substr(sign + 1), request, script, ignored_options))
      return bad_input(*wrong);
  }
  if (request.run.empty()) request.run = script.run_name;
  if (request.inputs.empty() && !script.kernel.empty()) request.inputs.emplace_back(script.kernel);
  if (request.inputs.empty() && !script.run_name.empty())
    request.inputs.push_back(fs::path(script.runs_dir) / script.run_name);
  take_problem(script, request);
  return ignored_options;
}

}  // namespace kq::producer
