#include "core/submission.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>

#include "core/base/safe_text.h"
#include "core/limits.h"

namespace kq {
namespace {

// Appends one field of the key as `name=length:bytes;`. The length makes sure that different submissions have different
// texts.
void put(std::string& text, std::string_view name, std::string_view value) {
  char length[24];
  char* const end = std::to_chars(length + 1, length + sizeof length - 1, value.size()).ptr;
  length[0] = '=';
  *end = ':';
  text.append(name).append(length, static_cast<std::size_t>(end + 1 - length)).append(value) += ';';
}

std::string shortest(std::optional<double> value) {
  if (!value) return "";
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, *value);
  return {digits, end.ptr};
}

bool is_plain_file_name(std::string_view name) {
  return name != "." && name != ".." && name.find('/') == std::string_view::npos;
}

// Returns the length of the UTF-8 character at the front of `text`, or 0 where there is none. Overlong forms and
// surrogates are no characters.
std::size_t utf8_length(std::string_view text) {
  const auto at = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto follows = [&](std::size_t i) { return (at(i) & 0xC0u) == 0x80u; };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if (first == 0xE0 && at(1) < 0xA0) return 0;
    if (first == 0xED && at(1) > 0x9F) return 0;
    return follows(1) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if (first == 0xF0 && at(1) < 0x90) return 0;
    if (first == 0xF4 && at(1) > 0x8F) return 0;
    return follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::optional<std::string> name_error(std::string_view name) {
  if (name.empty()) return "is empty";
  if (name.size() > kNameBytesMax) {
    return "is " + std::to_string(name.size()) + " bytes long, the limit is " + std::to_string(kNameBytesMax);
  }
  for (std::size_t i = 0; i < name.size();) {
    const auto byte = static_cast<unsigned char>(name[i]);
    const bool is_c1 = byte == 0xC2 && i + 1 < name.size() && static_cast<unsigned char>(name[i + 1]) - 0x80u < 0x20;
    if (byte < 0x20 || byte == 0x7F || is_c1) return "holds a control character at byte " + std::to_string(i);
    const std::size_t length = utf8_length(name.substr(i));
    if (length == 0) return "is not UTF-8 at byte " + std::to_string(i);
    if (hidden_character_bytes(name.substr(i)) != 0) return "holds an invisible character at byte " + std::to_string(i);
    i += length;
  }
  return std::nullopt;
}

Hash submission_key(const Submission& submission) {
  constexpr std::size_t kUsualBytes = 512;
  std::string text;
  text.reserve(kUsualBytes);
  put(text, "evaluator", kEvaluatorVersion);
  put(text, "backend", to_string(submission.backend));
  for (const SourceFile& file : submission.files) {
    put(text, "file", file.name);
    put(text, "hash", as_bytes(file.hash));
  }
  put(text, "problem", as_bytes(submission.problem.hash));
  put(text, "problem_file", submission.problem.file);
  put(text, "precision", to_string(submission.problem.precision));
  put(text, "rtol", shortest(submission.problem.rtol));
  put(text, "atol", shortest(submission.problem.atol));
  for (const Workload& workload : submission.problem.workloads) put(text, "workload", workload.name);
  put(text, "device", to_string(submission.device));
  put(text, "gpu_model", submission.gpu_model);
  put(text, "correctness", std::to_string(submission.trials.correctness));
  put(text, "warmup", std::to_string(submission.trials.warmup));
  put(text, "timed", std::to_string(submission.trials.timed));
  put(text, "salt", submission.salt);
  // A default value adds nothing, so that the keys of stored jobs from before these fields stay the same.
  if (submission.trials.baseline != Baseline::eager) put(text, "baseline", to_string(submission.trials.baseline));
  if (submission.trials.profile != Profiler::none) put(text, "profile", to_string(submission.trials.profile));
  if (submission.trials.need_extensions) put(text, "need_extensions", "yes");
  if (submission.trials.streams != Streams::reject) put(text, "streams", to_string(submission.trials.streams));
  if (submission.trials.graphs != Graphs::reject) put(text, "graphs", to_string(submission.trials.graphs));
  if (submission.time_limit_ms != 0) put(text, "time_limit_ms", std::to_string(submission.time_limit_ms));
  if (submission.problem.device_count != 1) put(text, "device_count", std::to_string(submission.problem.device_count));
  if (const TruthRule& truth = submission.truth; truth != TruthRule{}) {
    put(text, "truth", truth.is_used ? "yes" : "no");
    put(text, "truth_rms", shortest(truth.rms));
    put(text, "truth_max", shortest(truth.max));
    put(text, "allow_precision", to_string(truth.allowed));
  }
  return sha256(text);
}

Submission evaluated_part(const Submission& submission) {
  Submission part = submission;
  part.author.clear();
  part.tags.clear();
  part.problem.name.clear();
  part.priority = Priority::normal;
  part.not_before_ms = part.deadline_ms = 0;
  part.labels.clear();
  return part;
}

Expected<void> validate(const Submission& submission) {
  if (const auto wrong = name_error(submission.label)) return bad_input("label " + *wrong);
  const auto refuse = [&](const std::string& sentence) { return bad_input(submission.label + ": " + sentence); };
  if (const auto wrong = name_error(submission.problem.name)) return refuse("the problem's name " + *wrong);
  if (const auto wrong = name_error(submission.problem.file)) return refuse("the problem's file name " + *wrong);
  if (!is_plain_file_name(submission.problem.file)) return refuse("the problem's file name must not hold a directory");
  if (submission.files.empty()) return refuse("no source file");
  if (submission.files.size() > kFilesPerSubmissionMax) {
    return refuse(std::to_string(submission.files.size()) + " files, at most " +
                  std::to_string(kFilesPerSubmissionMax) + " are allowed");
  }
  std::set<std::string_view> names;
  for (const SourceFile& file : submission.files) {
    if (const auto wrong = name_error(file.name)) return refuse("a file name " + *wrong);
    if (!names.insert(file.name).second) return refuse("two files are named '" + file.name + "'");
    if (!is_plain_file_name(file.name))
      return refuse("file '" + file.name + "': a plain name without a directory is needed");
  }
  for (const std::string* optional_name : {&submission.author, &submission.gpu_model, &submission.salt}) {
    if (optional_name->empty()) continue;
    if (const auto wrong = name_error(*optional_name)) return refuse("author, gpu model or salt " + *wrong);
  }
  if (const std::string& model = submission.gpu_model; model == "CPU" || model == "cpu")
    return refuse("'" + model + "' is no model of a GPU; device cpu asks for a CPU");
  if (submission.device == DeviceWish::cpu && !submission.gpu_model.empty())
    return refuse("a CPU and the GPU '" + submission.gpu_model + "' are asked for; only one can be had");
  if (submission.tags.size() > kTagsMax) return refuse("more than " + std::to_string(kTagsMax) + " tags");
  for (const auto& [name, value] : submission.tags) {
    if (const auto wrong = name_error(name)) return refuse("a tag " + *wrong);
    if (value.empty()) continue;
    if (const auto wrong = name_error(value)) return refuse("tag '" + name + "' " + *wrong);
  }
  if (submission.labels.size() > kLabelsMax) return refuse("more than " + std::to_string(kLabelsMax) + " labels");
  for (const std::string& label : submission.labels) {
    if (const auto wrong = name_error(label)) return refuse("a label of a worker " + *wrong);
  }
  if (std::adjacent_find(submission.labels.begin(), submission.labels.end(), std::greater_equal<>()) !=
      submission.labels.end()) {
    return refuse("the labels of a worker must be sorted, no two alike");
  }
  if (submission.not_before_ms < 0 || submission.deadline_ms < 0) return refuse("a time must not be negative");
  if (submission.deadline_ms != 0 && submission.deadline_ms <= submission.not_before_ms) {
    return refuse("its deadline is not after the time before which it must not run");
  }
  if (submission.problem.workloads.empty() || submission.problem.workloads.size() > kWorkloadsMax)
    return refuse("a job selects 1 to " + std::to_string(kWorkloadsMax) + " workloads");
  for (const Workload& workload : submission.problem.workloads) {
    if (const auto wrong = name_error(workload.name)) return refuse("the workload's name " + *wrong);
  }
  const std::uint32_t devices = submission.problem.device_count;
  if (devices < 1 || devices > kDeviceCountMax) {
    return refuse("a job uses 1 to " + std::to_string(kDeviceCountMax) + " devices, not " + std::to_string(devices));
  }
  const Trials& trials = submission.trials;
  if (trials.correctness < 1 || trials.correctness > kTrialsMax || trials.warmup > kTrialsMax ||
      trials.timed > kTrialsMax) {
    return refuse("trials must be between 1 (correctness) or 0 (warmup, timed) and " + std::to_string(kTrialsMax));
  }
  for (const std::optional<double>& tolerance : {submission.problem.rtol, submission.problem.atol}) {
    if (tolerance && !(*tolerance >= 0 && *tolerance <= 1)) return refuse("a tolerance must be between 0 and 1");
  }
  for (const double factor : {submission.truth.rms, submission.truth.max}) {
    if (!(factor >= 0 && factor <= kTruthFactorMax)) {
      return refuse("the factors of the truth must be between 0 and " +
                    std::to_string(static_cast<int>(kTruthFactorMax)));
    }
  }
  return {};
}

}  // namespace kq
