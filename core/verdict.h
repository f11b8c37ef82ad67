// How a job ended: the table of verdicts, and a type in which a wrong answer cannot have a measured time.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "core/base/enum_names.h"
#include "core/measurement.h"

namespace kq {

enum class VerdictName {
  passed,
  suspect,
  compiled_only,
  wrong_answer,
  build_failed,
  load_failed,
  runtime_error,
  crashed,
  gpu_fault,
  out_of_memory,
  timed_out,
  rejected,
  problem_invalid,
  too_large,
  unsupported_here,
  cancelled,
  expired,
  abandoned
};
constexpr std::array<std::string_view, 18> enum_names(VerdictName) {
  return {"passed",          "suspect",   "compiled_only",    "wrong_answer",  "build_failed", "load_failed",
          "runtime_error",   "crashed",   "gpu_fault",        "out_of_memory", "timed_out",    "rejected",
          "problem_invalid", "too_large", "unsupported_here", "cancelled",     "expired",      "abandoned"};
}

// Who or what caused the verdict. Only `user` and `policy` are faults of the submission. A job that fails by `ours`, a
// fault of kq, is tried again before it gets such a verdict.
enum class Fault { none, user, policy, problem, nobody, ours };
constexpr std::array<std::string_view, 6> enum_names(Fault) {
  return {"none", "user", "policy", "problem", "nobody", "ours"};
}

// The stage in which the job ended.
enum class Stage { none, queue, guard, build, load, run, judge };
constexpr std::array<std::string_view, 7> enum_names(Stage) {
  return {"none", "queue", "guard", "build", "load", "run", "judge"};
}

// THE VERDICT TABLE has one row for each VerdictName, in the same order.
struct VerdictRow {
  VerdictName name;
  Fault fault;
  bool measured;  // whether the verdict has a Measurement
  bool ranks;     // whether the job may have a row on a leaderboard
  // Whether an identical submission is answered with this verdict. Where it is not, a worker tries the job again.
  bool terminal;
  std::string_view when;
};
inline constexpr VerdictRow kVerdicts[] = {
    {VerdictName::passed, Fault::none, true, true, true, "every checked output right"},
    {VerdictName::suspect, Fault::policy, true, false, true,
     "every checked output right, but the check proves nothing or the time is shorter than possible; on no board until "
     "it is reviewed"},
    {VerdictName::compiled_only, Fault::none, false, false, false, "built, and no device here could run it"},
    {VerdictName::wrong_answer, Fault::user, false, false, true,
     "an output differs: value, shape, dtype, nan, mutated_input, nondeterministic"},
    {VerdictName::build_failed, Fault::user, false, false, true, "the source does not compile"},
    {VerdictName::load_failed, Fault::user, false, false, true,
     "the built module does not import, or its model cannot be constructed"},
    {VerdictName::runtime_error, Fault::user, false, false, true, "a call raised or ended its process"},
    {VerdictName::crashed, Fault::user, false, false, true, "its process died of a signal"},
    {VerdictName::gpu_fault, Fault::user, false, false, true, "the GPU reported an illegal access or instruction"},
    {VerdictName::out_of_memory, Fault::user, false, false, true,
     "more host or gpu memory than its limit, or more of the disk"},
    {VerdictName::timed_out, Fault::user, false, false, true, "a stage took longer than its limit"},
    {VerdictName::rejected, Fault::policy, false, false, true, "stream, async, tamper, policy or sandbox rule"},
    {VerdictName::problem_invalid, Fault::problem, false, false, true, "the reference fails or disagrees with itself"},
    {VerdictName::too_large, Fault::nobody, false, false, false, "needs more memory than any worker here has"},
    {VerdictName::unsupported_here, Fault::nobody, false, false, false,
     "needs another device than any worker here has"},
    {VerdictName::cancelled, Fault::user, false, false, false, "cancelled by its submitter"},
    {VerdictName::expired, Fault::nobody, false, false, false, "not started before its deadline"},
    {VerdictName::abandoned, Fault::ours, false, false, false,
     "failures of kq used up its attempts; the evidence is of the last one"},
};
constexpr const VerdictRow& row_of(VerdictName name) {
  return kVerdicts[static_cast<std::size_t>(name)];
}

// The errors of one output against the truth. A relative RMS is the RMS of the errors divided by that of the truth.
struct TruthErrors {
  // How the truth was computed: "float64 on the device", "float64 on the host", "IEEE float32 on the device"; or
  // "none: ", and why there is none. Then all numbers are 0.
  std::string kind = {};
  double submission_max = 0;
  double submission_rms = 0;
  double reference_max = 0;
  double reference_rms = 0;
  double rounding_max = 0;  // what rounding inputs and parameters to the allowed precision does; 0: none is allowed
  double rounding_rms = 0;
  // The precision that the submission's relative RMS looks like: "float32", "TF32 or float16", "bfloat16"; empty for
  // any other.
  std::string looks_like = {};

  friend bool operator==(const TruthErrors&, const TruthErrors&) = default;
};

// The first element of an output that differs from the reference, the largest errors of that output, and its worst
// element. Where the output has another form, only its place, the two forms and `looks_like` are set.
struct Mismatch {
  std::uint32_t trial = 0;
  std::uint32_t output = 0;   // the index of the output
  std::uint64_t element = 0;  // the row-major index of the element
  double expected = 0;
  double got = 0;
  double max_abs_err = 0;
  double max_rel_err = 0;
  std::uint64_t mismatched = 0;  // the number of elements, of `total`, that differ
  std::uint64_t total = 0;
  // The element whose error exceeds most what is allowed there.
  std::string worst_place = {};  // its indices: "[3, 17]"
  double worst_expected = 0;
  double worst_got = 0;
  double worst_error = 0;
  double worst_allowed = 0;  // atol + rtol * |expected|, in effect
  double rtol = 0;           // in effect, whether of the submission, the problem, or the dtype
  double atol = 0;
  std::uint64_t not_finite = 0;  // NaN or infinite elements where the reference's are finite
  // What the output looks like, in a word: "unwritten", "zeros", "stale", "transposed", "shifted", "tile", "tail",
  // "tf32", "bf16", "cast"; empty where nothing is known.
  std::string looks_like = {};
  std::string expected_form = {};  // "float32[3, 4]"; empty where the forms agree
  std::string got_form = {};

  friend bool operator==(const Mismatch&, const Mismatch&) = default;
};

// The explanation of a verdict for people. `message` may quote the output of a child and is untrusted text. No decision
// of kq depends on it.
struct Evidence {
  Stage stage = Stage::none;
  std::string reason;  // a short name of the cause: "shape", "stream", "host", "signal 11", "run"
  std::string message;
  std::string hint;
  std::string rule;   // the rule by which the submission was rejected
  std::string place;  // "file:line" of a rejection or a build error
  std::optional<Mismatch> mismatch;
  std::optional<TruthErrors> truth = std::nullopt;  // of the first wrong output, where the truth was asked for
  // The parameters and buffers without a partner of equal name and shape, on either side, as the submission's child
  // reports them: untrusted text.
  std::string unmatched = {};

  friend bool operator==(const Evidence&, const Evidence&) = default;
};

struct Correctness {
  std::uint32_t trials_passed = 0;
  double max_abs_err = 0;
  double max_rel_err = 0;
  // The tolerance in effect: that of the first floating-point output, or of the first output if there is none.
  std::optional<double> rtol = std::nullopt;
  std::optional<double> atol = std::nullopt;
  // Of the output that was farthest from the truth, relative to the reference. No value where all outputs were within
  // the tolerance of the reference.
  std::optional<TruthErrors> truth = std::nullopt;

  friend bool operator==(const Correctness&, const Correctness&) = default;
};

struct Passed {
  Measurement measurement;
  Correctness correctness;

  friend bool operator==(const Passed&, const Passed&) = default;
};
struct Suspect {
  Measurement measurement;
  Correctness correctness;
  Evidence evidence;

  friend bool operator==(const Suspect&, const Suspect&) = default;
};
// Every other verdict. `name` is never passed or suspect: the decoder refuses such a value, and ended() checks it.
struct Ended {
  VerdictName name = VerdictName::abandoned;
  Evidence evidence;

  friend bool operator==(const Ended&, const Ended&) = default;
};
using Verdict = std::variant<Passed, Suspect, Ended>;

// The reason of the evidence of a suspect submission whose problem gives the same inputs to every call.
inline constexpr std::string_view kSameInputs = "inputs";

Verdict ended(VerdictName name, Evidence evidence);
VerdictName name_of(const Verdict& verdict);
// Returns whose fault a verdict is: that of its name in the table, except that a measured submission is not at fault
// where its problem has the same inputs in every call (kSameInputs).
Fault fault_of(const Verdict& verdict);
const Evidence* evidence_of(const Verdict& verdict);        // null for passed
const Measurement* measurement_of(const Verdict& verdict);  // null unless passed or suspect
const Correctness* correctness_of(const Verdict& verdict);  // null unless passed or suspect

template <class V>
void fields(V& v, TruthErrors& x) {
  v("kind", x.kind);
  v("submission_max", x.submission_max);
  v("submission_rms", x.submission_rms);
  v("reference_max", x.reference_max);
  v("reference_rms", x.reference_rms);
  v("rounding_max", x.rounding_max);
  v("rounding_rms", x.rounding_rms);
  v("looks_like", x.looks_like);
}
template <class V>
void fields(V& v, Mismatch& x) {
  v("trial", x.trial);
  v("output", x.output);
  v("element", x.element);
  v("expected", x.expected);
  v("got", x.got);
  v("max_abs_err", x.max_abs_err);
  v("max_rel_err", x.max_rel_err);
  v("mismatched", x.mismatched);
  v("total", x.total);
  v("worst_place", x.worst_place);
  v("worst_expected", x.worst_expected);
  v("worst_got", x.worst_got);
  v("worst_error", x.worst_error);
  v("worst_allowed", x.worst_allowed);
  v("rtol", x.rtol);
  v("atol", x.atol);
  v("not_finite", x.not_finite);
  v("looks_like", x.looks_like);
  v("expected_form", x.expected_form);
  v("got_form", x.got_form);
}
template <class V>
void fields(V& v, Evidence& x) {
  v("stage", x.stage);
  v("reason", x.reason);
  v("message", x.message);
  v("hint", x.hint);
  v("rule", x.rule);
  v("place", x.place);
  v("mismatch", x.mismatch);
  v("truth", x.truth);
  v("unmatched", x.unmatched);
}
template <class V>
void fields(V& v, Correctness& x) {
  v("trials_passed", x.trials_passed);
  v("max_abs_err", x.max_abs_err);
  v("max_rel_err", x.max_rel_err);
  v("rtol", x.rtol);
  v("atol", x.atol);
  v("truth", x.truth);
}
template <class V>
void fields(V& v, Passed& x) {
  v("measurement", x.measurement);
  v("correctness", x.correctness);
}
template <class V>
void fields(V& v, Suspect& x) {
  v("measurement", x.measurement);
  v("correctness", x.correctness);
  v("evidence", x.evidence);
}
template <class V>
void fields(V& v, Ended& x) {
  v("name", x.name);
  v("evidence", x.evidence);
}

// An encoded variant is [name, body]. AlternativeName is the name of an alternative.
template <class T>
struct AlternativeName;
template <>
struct AlternativeName<Passed> {
  static constexpr std::string_view value = "passed";
};
template <>
struct AlternativeName<Suspect> {
  static constexpr std::string_view value = "suspect";
};
template <>
struct AlternativeName<Ended> {
  static constexpr std::string_view value = "ended";
};

// Returns what is wrong with a decoded value, or nothing. The decoder calls it for each type that has such a function.
std::optional<std::string> decode_error(const Ended& ended);

}  // namespace kq
