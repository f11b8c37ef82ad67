#include "producer/submit/judge_options.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "producer/formats/settings.h"

namespace kq::producer {
namespace {

template <class Enum, std::optional<Enum> InputOptions::*Member>
Expected<void> apply_word(const std::string& text, InputOptions& options) {
  const auto value = parse_enum<Enum>(text);
  if (!value) return bad_input("must be one of " + known_names<Enum>() + ", got '" + text + "'");
  options.*Member = *value;
  return {};
}

template <Expected<double> (*Parse)(const std::string&), std::optional<double> InputOptions::*Member>
Expected<void> apply_number(const std::string& text, InputOptions& options) {
  KQ_TRY_VALUE(options.*Member, Parse(text));
  return {};
}

template <bool InputOptions::*Member>
Expected<void> apply_flag(const std::string&, InputOptions& options) {
  options.*Member = true;
  return {};
}

Expected<void> apply_suite(const std::string& text, InputOptions& options) {
  const auto suite = parse_enum<Suite>(text);
  if (!suite) return bad_input("must be one of " + known_names<Suite>() + ", got '" + text + "'");
  options.suite.suite = *suite;
  return {};
}

Expected<void> apply_trace(const std::string& text, InputOptions& options) {
  options.suite.trace = text;
  return {};
}

Expected<void> apply_ops(const std::string& text, InputOptions& options) {
  options.suite.ops.clear();
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) options.suite.ops.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (options.suite.ops.empty()) return bad_input("must be names of operators joined by commas, got '" + text + "'");
  return {};
}

Expected<void> apply_largest(const std::string& text, InputOptions& options) {
  std::uint32_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error != std::errc{} || end != text.data() + text.size() || count == 0)
    return bad_input("must be a number from 1 on, got '" + text + "'");
  options.suite.largest = count;
  return {};
}

template <bool SuiteOptions::*Member>
Expected<void> apply_suite_flag(const std::string&, InputOptions& options) {
  options.suite.*Member = true;
  return {};
}

Expected<void> apply_workloads(const std::string& text, InputOptions& options) {
  options.workloads = parse_workloads(text);
  return {};
}

Expected<void> apply_judged_by(const std::string& text, InputOptions& options) {
  const auto judged_by = parse_enum<JudgedBy>(text);
  if (!judged_by) return bad_input("must be kq, problem or both, got '" + text + "'");
  options.judged_by = *judged_by;
  return {};
}

constexpr JudgeOption kJudgeOptions[] = {
    {"--precision", "as_given|fp32|fp16|bf16", "cast floating-point inputs to",
     apply_word<Precision, &InputOptions::precision>},
    {"--baseline", "eager|compile", "time the problem's reference as it is (eager) or under torch.compile (compile)",
     apply_word<Baseline, &InputOptions::baseline>},
    {"--profile", "none|ncu",
     "run the kernels of a passed submission under a profiler: ncu (NVIDIA's Nsight Compute), or none",
     apply_word<Profiler, &InputOptions::profile>},
    {"--streams", "reject|joined",
     "CUDA streams of a submission's own: reject, or joined: allow streams that are joined before a call returns; such "
     "jobs are on a board of their own",
     apply_word<Streams, &InputOptions::streams>},
    {"--graphs", "reject|allow", "CUDA graphs: reject, or allow; such jobs are on a board of their own",
     apply_word<Graphs, &InputOptions::graphs>},
    {"--workloads", "NAMES",
     "run only these of the problem's workloads: names or patterns with * and ?, joined by commas; such jobs are on no "
     "board",
     apply_workloads},
    {"--judged-by", "kq|problem|both",
     "problems in GPU MODE's form: checked and timed by kq (the default), by the problem's own program (problem), or "
     "each in a job of its own (both)",
     apply_judged_by},
    {"--need-extensions", nullptr,
     "a submission whose load_inline or load does not compile ends as build_failed, even if it catches that",
     apply_flag<&InputOptions::need_extensions>},
    {"--rtol", "NUMBER", "relative tolerance of all outputs, from 0 to 1, in place of the problem's",
     apply_number<parse_tolerance, &InputOptions::rtol>},
    {"--atol", "NUMBER", "the same for the absolute tolerance", apply_number<parse_tolerance, &InputOptions::atol>},
    {"--truth-rms", "NUMBER",
     "where outputs differ from the reference: how many times the reference's RMS error against float64 their RMS "
     "error may be; default 2",
     apply_number<parse_truth_factor, &InputOptions::truth_rms>},
    {"--truth-max", "NUMBER", "the same for the largest error; default 4",
     apply_number<parse_truth_factor, &InputOptions::truth_max>},
    {"--no-truth", nullptr, "outputs that differ from the reference are wrong, however near to float64",
     apply_flag<&InputOptions::no_truth>},
    {"--allow-precision", "none|tf32|fp16|bf16",
     "allow as well what rounding inputs and parameters to this does to the outputs",
     apply_word<AllowedPrecision, &InputOptions::allow_precision>},
    {"--suite", "smoke|torchbench|opinfo|facto", "BackendBench's kernels: the calls that test them", apply_suite},
    {"--trace", "FILE", "the calls of a suite but smoke: a trace (.txt) or JSON Lines (.jsonl)", apply_trace},
    {"--ops", "NAMES", "only these operators, joined by commas; in torchbench, all that have one of them in their name",
     apply_ops},
    {"--topn-inputs", "N", "torchbench: only the N calls of each operator that have the largest tensors",
     apply_largest},
    {"--backendbench-tolerance", nullptr,
     "BackendBench's tolerance: 0.01 for every dtype, and no comparison with float64",
     apply_suite_flag<&SuiteOptions::strict>},
    {"--first-version", nullptr, "of several versions of a kernel the one whose name is first, and not the highest",
     apply_suite_flag<&SuiteOptions::first_version>},
};

}  // namespace

std::span<const JudgeOption> judge_options() {
  return kJudgeOptions;
}

JudgeOptionTexts::JudgeOptionTexts() {
  for (const JudgeOption& option : kJudgeOptions) all_.push_back({.option = option});
}

Expected<void> JudgeOptionTexts::apply(InputOptions& options) const {
  for (const Given& given : all_) {
    if (given.text.empty() && !given.is_set) continue;
    const auto applied = given.option.apply(given.text, options);
    if (!applied) return bad_input(std::string(given.option.flag) + " " + applied.error().message);
  }
  return {};
}

}  // namespace kq::producer
