#include "core/submission.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "core/testing/examples.h"

namespace kq {
namespace {

using Change = std::function<void(Submission&)>;

Submission with(const Change& change) {
  Submission submission = examples::submission();
  change(submission);
  return submission;
}

std::string complaint_of(const Change& change) {
  const auto valid = validate(with(change));
  if (valid) return "valid";
  EXPECT_EQ(valid.error().kind, ErrorKind::bad_input);
  return valid.error().message;
}

// ---- the key --------------------------------------------------------------------------------------------------------

TEST(SubmissionKey, differs_with_everything_that_changes_the_work) {
  const std::vector<Change> changes = {
      [](Submission&) {},
      [](Submission& s) { s.backend = Backend::cuda; },
      [](Submission& s) { s.files.pop_back(); },
      [](Submission& s) { s.files.push_back(s.files[0]); },
      [](Submission& s) { std::swap(s.files[0], s.files[1]); },
      [](Submission& s) { s.files[0].name = "other.py"; },
      [](Submission& s) { s.files[0].hash = sha256("other"); },
      [](Submission& s) { s.problem.hash = sha256("other"); },
      [](Submission& s) { s.problem.precision = Precision::fp16; },
      [](Submission& s) { s.problem.rtol = 0.02; },
      [](Submission& s) { s.problem.rtol = std::nextafter(0.01, 1); },
      [](Submission& s) { s.problem.rtol = 0; },
      [](Submission& s) { s.problem.rtol.reset(); },
      [](Submission& s) { s.problem.atol = 0.002; },
      [](Submission& s) { s.problem.atol.reset(); },
      [](Submission& s) { std::swap(s.problem.rtol, s.problem.atol); },
      [](Submission& s) { s.problem.workloads[0].name = "small"; },
      [](Submission& s) { s.problem.workloads.push_back({"small"}); },
      [](Submission& s) { s.problem.device_count = 4; },
      [](Submission& s) { s.problem.device_count = 1; },
      [](Submission& s) { s.device = DeviceWish::any; },
      [](Submission& s) { s.gpu_model = "NVIDIA H100"; },
      [](Submission& s) { s.gpu_model.clear(); },
      [](Submission& s) { s.trials.correctness = 8; },
      [](Submission& s) { s.trials.warmup = 8; },
      [](Submission& s) { s.trials.timed = 8; },
      [](Submission& s) { s.trials.baseline = Baseline::eager; },
      [](Submission& s) { s.trials.profile = Profiler::none; },
      [](Submission& s) { s.trials.streams = Streams::reject; },
      [](Submission& s) { s.trials.graphs = Graphs::reject; },
      [](Submission& s) { s.truth.is_used = true; },
      [](Submission& s) { s.truth.rms = 3; },
      [](Submission& s) { s.truth.max = 3; },
      [](Submission& s) { s.truth.allowed = AllowedPrecision::bf16; },
      [](Submission& s) { s.truth = {}; },
      [](Submission& s) { s.salt = "once more"; },
      [](Submission& s) { s.salt.clear(); },
  };
  std::set<Hash> keys;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    EXPECT_TRUE(keys.insert(submission_key(with(changes[i]))).second) << "change " << i << " does not change the key";
  }
}

// Visits the values of a Submission that are no structs, and changes the one with the number `at`.
class FieldChanger {
 public:
  explicit FieldChanger(std::size_t at) : at_(at) {}

  template <class T>
  void operator()(const char* name, T& value) {
    const std::string outer = path_;
    path_ += (outer.empty() ? "" : ".") + std::string(name);
    visit(value);
    path_ = outer;
  }

  // The path of the value that was changed; empty if there is no value with this number.
  const std::string& changed() const { return changed_; }

 private:
  bool is_next() {
    if (count_++ != at_) return false;
    changed_ = path_;
    return true;
  }

  template <class T>
  void visit(T& value) {
    if constexpr (requires { fields(*this, value); }) {
      fields(*this, value);
    } else if (is_next()) {
      change(value);
    }
  }
  template <class T>
  void visit(std::vector<T>& values) {
    if (is_next()) values.insert(values.begin(), T{});
    if (!values.empty()) (*this)("0", values.front());
  }
  template <class T>
  void visit(std::optional<T>& value) {
    if (is_next()) value = value ? std::nullopt : std::optional<T>(T{});
    if (value) (*this)("value", *value);
  }

  static void change(std::string& value) { value += "x"; }
  static void change(bool& value) { value = !value; }
  static void change(Hash& value) { value.bytes[0] ^= 1; }
  static void change(std::map<std::string, std::string>& value) { value["new"] = "x"; }
  template <class T>
  requires std::is_enum_v<T>
  static void change(T& value) { value = static_cast<T>(value == T{} ? 1 : 0); }
  template <class T>
  requires(std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) static void change(T& value) { value += 1; }

  std::size_t at_;
  std::size_t count_ = 0;
  std::string path_;
  std::string changed_;
};

// Two submissions with the same key are one job, so the submitter of the first one must not be able to decide how the
// job of the second one ends. A new field of a submission is either hashed into the key or kept from workers.
TEST(SubmissionKey, whatever_reaches_a_worker_is_in_the_key) {
  const Submission before = examples::submission();
  std::set<std::string> out_of_key;
  std::size_t at = 0;
  for (;; ++at) {
    Submission after = before;
    FieldChanger changer(at);
    fields(changer, after);
    if (changer.changed().empty()) break;
    if (submission_key(after) != submission_key(before)) continue;
    out_of_key.insert(changer.changed());
    after.label = before.label;  // only logs and names of profiles have it
    EXPECT_EQ(evaluated_part(after), evaluated_part(before)) << changer.changed();
  }
  EXPECT_GT(at, 30u);
  EXPECT_EQ(out_of_key, (std::set<std::string>{"author", "deadline_ms", "label", "labels", "labels.0", "not_before_ms",
                                               "priority", "problem.name", "tags"}));
}

TEST(SubmissionKey, ignores_the_fields_for_people) {
  const Hash key = submission_key(examples::submission());
  EXPECT_EQ(submission_key(with([](Submission& s) { s.label = "other"; })), key);
  EXPECT_EQ(submission_key(with([](Submission& s) { s.author.clear(); })), key);
  EXPECT_EQ(submission_key(with([](Submission& s) { s.tags["level"] = "2"; })), key);
  EXPECT_EQ(submission_key(with([](Submission& s) { s.problem.name = "other"; })), key);
}

TEST(SubmissionKey, cannot_be_forged_by_a_value_that_spells_the_next_field) {
  const auto honest = with([](Submission& s) { s.gpu_model.clear(), s.salt = "x"; });
  const auto forged = with([](Submission& s) { s.gpu_model = ";salt=1:x", s.salt.clear(); });
  EXPECT_NE(submission_key(honest), submission_key(forged));
}

TEST(SubmissionKey, is_the_same_in_every_release) {
  Submission submission = examples::submission();
  // Fields that were added later change the key only where they differ from their defaults.
  const Hash limited = submission_key(submission);
  submission.time_limit_ms = 0;
  EXPECT_NE(submission_key(submission), limited);
  submission.trials.baseline = Baseline::eager;
  submission.trials.profile = Profiler::none;
  submission.trials.need_extensions = false;
  submission.trials.streams = Streams::reject;
  submission.trials.graphs = Graphs::reject;
  submission.truth = {};
  submission.problem.device_count = 1;
  EXPECT_EQ(to_hex(submission_key(submission)), "5e9689d2d91ddc7832c00f6b2b5ea44f129b684667c2e863a62010ae923c6737")
      << "stored results no longer answer the submissions they belong to; raise kEvaluatorVersion if that is meant";
}

// ---- names ----------------------------------------------------------------------------------------------------------

TEST(NameError, accepts_utf8_text) {
  for (const std::string_view name : {"a", "relu/fast triton_v2.1", "größer", "カーネル", "🚀", "\u00A0",
                                      "\u07FF\u0800\uD7FF\uE000\uFFFF", "\U00010000\U0010FFFF", "~"}) {
    EXPECT_EQ(name_error(name), std::nullopt) << name;
  }
}

TEST(NameError, says_what_is_wrong) {
  using namespace std::string_view_literals;
  const std::pair<std::string_view, std::string> cases[] = {
      {"", "is empty"},
      {"a\0b"sv, "holds a control character at byte 1"},
      {"a\nb", "holds a control character at byte 1"},
      {"\tb", "holds a control character at byte 0"},
      {"ab\x1b[31m", "holds a control character at byte 2"},
      {"ab\x1f", "holds a control character at byte 2"},
      {"ab\x7f", "holds a control character at byte 2"},
      {"a\xC2\x80", "holds a control character at byte 1"},  // U+0080 to U+009F: some of them control a terminal
      {"a\xC2\x9B", "holds a control character at byte 1"},
      {"a\x80", "is not UTF-8 at byte 1"},  // a continuation without a start
      {"a\xFF", "is not UTF-8 at byte 1"},
      {"a\xC0\xAF", "is not UTF-8 at byte 1"},  // overlong '/', two bytes
      {"a\xC1\xBF", "is not UTF-8 at byte 1"},
      {"a\xE0\x80\xAF", "is not UTF-8 at byte 1"},  // overlong '/', three bytes
      {"a\xE0\x9F\xBF", "is not UTF-8 at byte 1"},
      {"a\xF0\x80\x80\xAF", "is not UTF-8 at byte 1"},  // overlong '/', four bytes
      {"a\xF0\x8F\xBF\xBF", "is not UTF-8 at byte 1"},
      {"a\xED\xA0\x80", "is not UTF-8 at byte 1"},  // surrogates
      {"a\xED\xBF\xBF", "is not UTF-8 at byte 1"},
      {"a\xF4\x90\x80\x80", "is not UTF-8 at byte 1"},  // above U+10FFFF
      {"a\xF5\x80\x80\x80", "is not UTF-8 at byte 1"},
      {"a\xC3", "is not UTF-8 at byte 1"},  // cut short
      {"a\xE2\x82", "is not UTF-8 at byte 1"},
      {"a\xF0\x9F\x9A", "is not UTF-8 at byte 1"},
      {"\xC3\xA4\xC3(", "is not UTF-8 at byte 2"},
  };
  for (const auto& [name, error_text] : cases) EXPECT_EQ(name_error(name), error_text) << name;
}

TEST(NameError, limits_the_length_in_bytes) {
  EXPECT_EQ(name_error(std::string(kNameBytesMax, 'x')), std::nullopt);
  EXPECT_EQ(name_error(std::string(kNameBytesMax + 1, 'x')), "is 201 bytes long, the limit is 200");
}

// ---- validate -------------------------------------------------------------------------------------------------------

TEST(Validate, accepts_usual_submissions) {
  EXPECT_EQ(complaint_of([](Submission&) {}), "valid");
  EXPECT_EQ(complaint_of([](Submission& s) { s.author.clear(), s.gpu_model.clear(), s.salt.clear(), s.tags.clear(); }),
            "valid");
  EXPECT_EQ(complaint_of([](Submission& s) { s.tags["empty"] = ""; }), "valid");
  EXPECT_EQ(complaint_of([](Submission& s) { s.problem.rtol.reset(), s.problem.atol = 0; }), "valid");
  EXPECT_EQ(complaint_of([](Submission& s) { s.trials = {.correctness = 1, .warmup = 0, .timed = 0}; }), "valid");
  EXPECT_EQ(complaint_of([](Submission& s) { s.trials = {kTrialsMax, kTrialsMax, kTrialsMax}; }), "valid");
}

TEST(Validate, refuses_in_a_sentence_that_starts_with_the_label) {
  const std::string trials = "relu/fast_triton: trials must be between 1 (correctness) or 0 (warmup, timed) and 1000";
  const std::string factor = "relu/fast_triton: the factors of the truth must be between 0 and 1000";
  const std::string tolerance = "relu/fast_triton: a tolerance must be between 0 and 1";
  const std::pair<Change, std::string> cases[] = {
      {[](Submission& s) { s.truth.rms = -1; }, factor},
      {[](Submission& s) { s.truth.max = std::nan(""); }, factor},
      {[](Submission& s) { s.label.clear(); }, "label is empty"},
      {[](Submission& s) { s.label = "a\nb"; }, "label holds a control character at byte 1"},
      {[](Submission& s) { s.problem.name.clear(); }, "relu/fast_triton: the problem's name is empty"},
      {[](Submission& s) { s.problem.file.clear(); }, "relu/fast_triton: the problem's file name is empty"},
      {[](Submission& s) { s.problem.file = "../x.py"; },
       "relu/fast_triton: the problem's file name must not hold a directory"},
      {[](Submission& s) { s.files.clear(); }, "relu/fast_triton: no source file"},
      {[](Submission& s) { s.files.resize(17, s.files[0]); }, "relu/fast_triton: 17 files, at most 16 are allowed"},
      {[](Submission& s) { s.files[1].name.clear(); }, "relu/fast_triton: a file name is empty"},
      {[](Submission& s) { s.files[1].name = "/etc/passwd"; },
       "relu/fast_triton: file '/etc/passwd': a plain name without a directory is needed"},
      {[](Submission& s) { s.files[1].name = ".."; },
       "relu/fast_triton: file '..': a plain name without a directory is needed"},
      {[](Submission& s) { s.files[1].name = "."; },
       "relu/fast_triton: file '.': a plain name without a directory is needed"},
      {[](Submission& s) { s.files[1].name = s.files[0].name; }, "relu/fast_triton: two files are named 'relu.py'"},
      {[](Submission& s) { s.author = "a\x01"; },
       "relu/fast_triton: author, gpu model or salt holds a control character at byte 1"},
      {[](Submission& s) { s.gpu_model = "\xFF"; },
       "relu/fast_triton: author, gpu model or salt is not UTF-8 at byte 0"},
      {[](Submission& s) { s.salt = "\xFF"; }, "relu/fast_triton: author, gpu model or salt is not UTF-8 at byte 0"},
      {[](Submission& s) { s.tags[""] = "x"; }, "relu/fast_triton: a tag is empty"},
      {[](Submission& s) { s.tags["level"] = "\n"; },
       "relu/fast_triton: tag 'level' holds a control character at byte 0"},
      {[](Submission& s) {
         for (int i = 0; i < 32; ++i) s.tags[std::to_string(i)] = "x";
       },
       "relu/fast_triton: more than 32 tags"},
      {[](Submission& s) {
         s.labels = {"a", "a"};
       },
       "relu/fast_triton: the labels of a worker must be sorted, no two alike"},
      {[](Submission& s) {
         s.labels = {"b", "a"};
       },
       "relu/fast_triton: the labels of a worker must be sorted, no two alike"},
      {[](Submission& s) { s.labels = {""}; }, "relu/fast_triton: a label of a worker is empty"},
      {[](Submission& s) { s.labels.resize(kLabelsMax + 1); }, "relu/fast_triton: more than 16 labels"},
      {[](Submission& s) { s.gpu_model = "CPU"; },
       "relu/fast_triton: 'CPU' is no model of a GPU; device cpu asks for a CPU"},
      {[](Submission& s) { s.device = DeviceWish::cpu, s.gpu_model = "NVIDIA H200"; },
       "relu/fast_triton: a CPU and the GPU 'NVIDIA H200' are asked for; only one can be had"},
      {[](Submission& s) { s.deadline_ms = -1; }, "relu/fast_triton: a time must not be negative"},
      {[](Submission& s) { s.deadline_ms = s.not_before_ms; },
       "relu/fast_triton: its deadline is not after the time before which it must not run"},
      {[](Submission& s) { s.problem.workloads.clear(); }, "relu/fast_triton: a job selects 1 to 128 workloads"},
      {[](Submission& s) { s.problem.workloads[0].name = std::string(201, 'x'); },
       "relu/fast_triton: the workload's name is 201 bytes long, the limit is 200"},
      {[](Submission& s) { s.problem.workloads.resize(129); }, "relu/fast_triton: a job selects 1 to 128 workloads"},
      {[](Submission& s) { s.problem.device_count = 0; }, "relu/fast_triton: a job uses 1 to 16 devices, not 0"},
      {[](Submission& s) { s.problem.device_count = 17; }, "relu/fast_triton: a job uses 1 to 16 devices, not 17"},
      {[](Submission& s) { s.trials.correctness = 0; }, trials},
      {[](Submission& s) { s.trials.correctness = kTrialsMax + 1; }, trials},
      {[](Submission& s) { s.trials.warmup = kTrialsMax + 1; }, trials},
      {[](Submission& s) { s.trials.timed = UINT32_MAX; }, trials},
      {[](Submission& s) { s.problem.rtol = -0.1; }, tolerance},
      {[](Submission& s) { s.problem.atol = 1.5; }, tolerance},
      {[](Submission& s) { s.problem.atol = std::nan(""); }, tolerance},
  };
  for (const auto& [change, sentence] : cases) EXPECT_EQ(complaint_of(change), sentence);
}

}  // namespace
}  // namespace kq
