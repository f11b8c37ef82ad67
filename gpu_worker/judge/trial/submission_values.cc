// The part of SubmissionSide that compares the values of outputs, measures a wrong output by the truth, and explains
// it.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "gpu_worker/judge/check/degenerate_tolerance.h"
#include "gpu_worker/judge/trial/submission_side.h"
#include "sys/printable.h"

namespace kq::judge {
namespace {

// The degenerate-tolerance check reads pieces of the expected output in the first trial, evenly over the output, and
// then one piece of both outputs in each trial.
constexpr std::uint64_t kSampleBytesMax = 256u << 10;
constexpr std::uint64_t kFirstPieceBytes = 16u << 10;
constexpr std::uint64_t kFirstPieces = 8;
// An output that is measured by the truth is read in pieces of this size.
constexpr std::uint64_t kTruthPieceBytes = 16u << 20;
// Of an output that is measured by what earlier trials allow, a later trial reads some pieces. Of work that a
// submission leaves out in one piece in a hundred, half of the trials find some.
constexpr std::uint64_t kAllowancePieceBytes = 256u << 10;
constexpr std::uint64_t kAllowancePiecesMax = 64;
// An output of an earlier trial is compared with a wrong output in pieces of this size. The first one tells most apart.
constexpr std::uint64_t kStalePieceBytes = 256u << 10;
constexpr std::size_t kTruthTextMax = 400;  // of why there is no truth

// Returns for each element whether memory that begins at this offset still holds the poison there.
std::vector<bool> unwritten_elements(std::span<const std::byte> bytes, std::uint64_t offset,
                                     std::uint64_t element_bytes, std::uint32_t poison) {
  std::vector<bool> unwritten(bytes.size() / element_bytes);
  for (std::uint64_t begin = 0; begin < bytes.size(); begin += element_bytes) {
    std::uint64_t i = begin;
    while (i < begin + element_bytes && bytes[i] == byte_of(poison, offset + i)) ++i;
    unwritten[begin / element_bytes] = i == begin + element_bytes;
  }
  return unwritten;
}

std::string output_name(std::size_t i) {
  return "output " + std::to_string(i);
}

template <class... Values>
std::string format(const char* pattern, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, pattern, values...);
  return text;
}

channel::Rounding rounding_of(AllowedPrecision allowed) {
  switch (allowed) {
    case AllowedPrecision::none:
      return channel::Rounding::none;
    case AllowedPrecision::tf32:
      return channel::Rounding::tf32;
    case AllowedPrecision::fp16:
      return channel::Rounding::fp16;
    case AllowedPrecision::bf16:
      return channel::Rounding::bf16;
  }
  return channel::Rounding::none;
}

// Continues the message about a wrong output.
std::string words_of(const Mismatch& mismatch) {
  std::string text = "; the worst is at " + mismatch.worst_place +
                     format(": expected %.7g, got %.7g, off by %.3g where %.3g is allowed (rtol %.3g, atol %.3g)",
                            mismatch.worst_expected, mismatch.worst_got, mismatch.worst_error, mismatch.worst_allowed,
                            mismatch.rtol, mismatch.atol);
  if (mismatch.not_finite > 0)
    text += "; " + std::to_string(mismatch.not_finite) + (mismatch.not_finite == 1 ? " is" : " are") +
            " NaN or infinite where the reference is finite";
  return text;
}

std::string words_of(const TruthErrors& errors) {
  if (errors.kind.starts_with("none: ")) return "; there is no truth to measure it by: " + errors.kind.substr(6);
  const std::string like = errors.looks_like.empty() ? "" : ", as " + errors.looks_like + " has";
  return "; against " + errors.kind +
         format(" the relative RMS of its errors is %.2g%s, that of the reference's %.2g", errors.submission_rms,
                like.c_str(), errors.reference_rms);
}

}  // namespace

Step<void> SubmissionSide::check_values(const Plan& plan, const Trial& trial, const Expectation& expectation,
                                        std::span<const Tensor> got, const DeviceFindings& findings) {
  if (reference_.has_check()) return check_by_problem(plan, trial, expectation, got);
  const std::vector<Tensor>& expected = expectation.outputs;
  const std::uint64_t begin = reference_.layout().outputs.begin;
  TrialTruth truth;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Tensor& output = expected[i];
    const bool is_tensor = output.kind == channel::Kind::tensor;
    const PlainValue plain = plain_value(output);
    const channel::Dtype dtype = is_tensor ? output.dtype : plain.dtype;
    Comparison comparison(dtype, tolerance_for(dtype, plan.rtol, plan.atol, output.tolerance));
    note_tolerance(dtype, comparison.tolerance());
    if (i < findings.outputs.size() && findings.outputs[i]) {
      comparison.add_agreed(output.bytes / channel::element_bytes(dtype), findings.outputs[i]->max_abs_err,
                            findings.outputs[i]->max_rel_err);
    } else if (is_tensor) {
      KQ_TRY_VALUE(const bool is_known, is_known_by_truth(trial, expectation, i));
      if (is_known) continue;
      const std::uint64_t at = output.offset - begin;
      const auto compared =
          checks_.compare(comparison, {expectation.expected, at}, {expectation.snapshot, at}, output.bytes);
      if (!compared) return stop(compared.error());
    } else {
      comparison.add(plain.bytes, plain_value(got[i]).bytes);
    }
    if (comparison.equal()) {
      correctness_.max_abs_err = std::max(correctness_.max_abs_err, comparison.max_abs_err());
      correctness_.max_rel_err = std::max(correctness_.max_rel_err, comparison.max_rel_err());
      if (const auto checked =
              is_tensor ? check_degenerate_tolerance(trial, expectation, i, comparison.tolerance()) : Step<void>();
          !checked)
        return checked;
      continue;
    }
    KQ_TRY_VALUE(const auto finding, is_tensor ? measure_by_truth(plan, trial, expectation, i, comparison, truth)
                                               : Step<TruthFinding>(TruthFinding{}));
    if (!finding.is_right) {
      return stop(VerdictName::wrong_answer, explain(trial, expectation, i, got[i], comparison, finding));
    }
    if (finding.errors) note_truth(*finding.errors);
    correctness_.max_abs_err = std::max(correctness_.max_abs_err, comparison.max_abs_err());
    correctness_.max_rel_err = std::max(correctness_.max_rel_err, comparison.max_rel_err());
  }
  return {};
}

// Asks check() of the problem, in place of a comparison by a tolerance.
Step<void> SubmissionSide::check_by_problem(const Plan& plan, const Trial& trial, const Expectation& expectation,
                                            std::span<const Tensor> got) {
  KQ_TRY_VALUE(const auto sentence, reference_.run_check(plan, {.inputs = expectation.inputs,
                                                                .input_copies = expectation.input_copies,
                                                                .expected = expectation.expected,
                                                                .outputs = expectation.outputs,
                                                                .got = expectation.snapshot,
                                                                .got_outputs = got}));
  if (sentence.empty()) return {};
  Evidence found = evidence(Stage::judge, "check",
                            "check() of the problem says in trial " + std::to_string(trial.number) + ": " + sentence);
  add_idle_kernels(found);
  return stop(VerdictName::wrong_answer, std::move(found));
}

// Adds to the hint that the submission ran without its kernels, if its child has said so.
void SubmissionSide::add_idle_kernels(Evidence& evidence) const {
  if (!idle_kernels_.empty()) evidence.hint += (evidence.hint.empty() ? "" : "; ") + idle_kernels_;
}

void SubmissionSide::note_tolerance(channel::Dtype dtype, Tolerance tolerance) {
  if (correctness_.rtol && (is_tolerance_of_floats_ || !is_floating(dtype))) return;
  is_tolerance_of_floats_ = is_floating(dtype);
  correctness_.rtol = tolerance.rtol;
  correctness_.atol = tolerance.atol;
}

// Keeps the errors of the output that was farthest from the truth.
void SubmissionSide::note_truth(const TruthErrors& errors) {
  if (!correctness_.truth || errors.submission_rms > correctness_.truth->submission_rms) correctness_.truth = errors;
}

// Measures an output that is not within the tolerance of the reference's. Only floating-point outputs that are finite
// where the reference's are can be right by the truth.
Step<SubmissionSide::TruthFinding> SubmissionSide::measure_by_truth(const Plan& plan, const Trial& trial,
                                                                    const Expectation& expectation, std::size_t output,
                                                                    const Comparison& comparison, TrialTruth& truth) {
  if (!plan.truth.is_used || !is_floating(comparison.dtype()) || comparison.mismatch().not_finite > 0)
    return TruthFinding{};
  if (allowances_.size() <= output) allowances_.resize(output + 1);
  TruthAllowance& allowance = allowances_[output];
  if (allowance.trials >= kTruthTrialsMax) {
    KQ_TRY_VALUE(const bool is_within, is_within_allowance(trial, expectation, output));
    if (is_within) return TruthFinding{.is_right = true};
  }
  ReferenceSide::TruthRequest request{
      .inputs = expectation.inputs, .input_copies = expectation.input_copies, .seed = trial.seed};
  if (!truth) {
    KQ_TRY_VALUE(auto computed, reference_.compute_truth(plan, request));
    truth = std::move(computed);
  }
  TruthFinding finding;
  while (truth->memory) {
    KQ_TRY_VALUE(auto measured, compare_with_truth(expectation, output, comparison.tolerance(), *truth));
    if (!measured.is_conclusive() && reference_.has_truth_after(truth->kind)) {
      request.first_kind = truth->kind + 1;
      KQ_TRY_VALUE(auto next, reference_.compute_truth(plan, request));
      if (next.memory) {
        truth = std::move(next);
        continue;
      }
    }
    if (measured.is_conclusive()) reference_.prefer_truth(truth->kind);
    if (!measured.is_right(plan.truth) && plan.truth.allowed != AllowedPrecision::none) {
      request.first_kind = truth->kind;
      request.rounding = rounding_of(plan.truth.allowed);
      KQ_TRY(add_rounding(plan, request, output, *truth, measured));
    }
    finding.is_right = measured.is_right(plan.truth);
    finding.errors = measured.errors();
    finding.errors->kind =
        (measured.is_conclusive() ? "" : "none: the reference itself is far from its outputs in ") + truth->words;
    if (finding.is_right) measured.widen(allowance, plan.truth);
    return finding;
  }
  finding.errors = TruthErrors{.kind = "none: " + sys::printable(truth->words, kTruthTextMax)};
  return finding;
}

// Returns whether a large output, which earlier trials have measured by the truth, is within what they allowed. It is
// not compared with the reference's first, because it is known to differ, and that comparison reads all of it.
Step<bool> SubmissionSide::is_known_by_truth(const Trial& trial, const Expectation& expectation, std::size_t output) {
  const bool is_large = expectation.outputs[output].bytes > kAllowancePiecesMax * kAllowancePieceBytes;
  if (!is_large || allowances_.size() <= output || allowances_[output].trials < kTruthTrialsMax) return false;
  return is_within_allowance(trial, expectation, output);
}

// Returns whether the output is as near to the reference's as earlier trials have allowed. Reads a large output in
// pieces at random places only: reading all of it takes seconds in every trial.
Step<bool> SubmissionSide::is_within_allowance(const Trial& trial, const Expectation& expectation, std::size_t output) {
  const Tensor& tensor = expectation.outputs[output];
  const std::uint64_t begin = tensor.offset - reference_.layout().outputs.begin;
  const std::uint64_t element_bytes = channel::element_bytes(tensor.dtype);
  const std::uint64_t all = (tensor.bytes + kAllowancePieceBytes - 1) / kAllowancePieceBytes;
  const std::uint64_t pieces = std::min(all, kAllowancePiecesMax);
  const std::uint64_t step = tensor.bytes / pieces / element_bytes * element_bytes;
  auto& expected = piece_buffers_.expected;
  auto& got = piece_buffers_.got;
  expected.resize(pieces * kAllowancePieceBytes);
  got.resize(pieces * kAllowancePieceBytes);
  std::uint64_t filled = 0;
  for (std::uint64_t i = 0; i < pieces; ++i) {
    const bool is_whole = pieces == all;
    const std::uint64_t spare = is_whole ? 0 : step - kAllowancePieceBytes;
    const std::uint64_t shift = spare == 0 ? 0 : (trial.slot_draw >> 8) % spare / element_bytes * element_bytes;
    const std::uint64_t at = is_whole ? i * kAllowancePieceBytes : i * step + shift;
    const std::uint64_t bytes = std::min(kAllowancePieceBytes, tensor.bytes - at);
    const auto read_into = [&](std::vector<std::byte>& buffer, const Memory& from) {
      return device_.read(std::span(buffer).subspan(filled, bytes), from, begin + at);
    };
    if (const auto read = read_into(expected, expectation.expected); !read) return stop(read.error());
    if (const auto read = read_into(got, expectation.snapshot); !read) return stop(read.error());
    filled += bytes;
  }
  AllowanceComparison comparison;
  comparison.add({tensor.dtype, std::span(expected).first(filled)}, {tensor.dtype, std::span(got).first(filled)});
  return comparison.is_right(allowances_[output]);
}

Step<TruthComparison> SubmissionSide::compare_with_truth(const Expectation& expectation, std::size_t output,
                                                         Tolerance tolerance, const ReferenceSide::Truth& truth) {
  const Tensor& tensor = expectation.outputs[output];
  const Tensor& exact = truth.outputs[output];
  const std::uint64_t begin = tensor.offset - reference_.layout().outputs.begin;
  const std::uint64_t element_bytes = channel::element_bytes(tensor.dtype);
  const std::uint64_t exact_bytes = channel::element_bytes(exact.dtype);
  TruthComparison comparison(tolerance);
  if (truth.is_in_device_memory) {
    const auto measured =
        device_.measure_by_truth({.memory = truth.memory.get(), .offset = exact.offset, .dtype = exact.dtype},
                                 {.expected = &expectation.expected,
                                  .expected_offset = begin,
                                  .got = &expectation.snapshot,
                                  .got_offset = begin,
                                  .bytes = tensor.bytes,
                                  .dtype = tensor.dtype,
                                  .tolerance = tolerance});
    if (!measured) return stop(measured.error());
    if (*measured) {
      comparison.add_measured(**measured);
      return comparison;
    }
  }
  for (std::uint64_t at = 0; at < tensor.bytes; at += kTruthPieceBytes) {
    const std::uint64_t bytes = std::min(kTruthPieceBytes, tensor.bytes - at);
    auto& [exact_buffer, expected, got] = piece_buffers_;
    expected.resize(bytes);
    got.resize(bytes);
    if (const auto read = device_.read(expected, expectation.expected, begin + at); !read) return stop(read.error());
    if (const auto read = device_.read(got, expectation.snapshot, begin + at); !read) return stop(read.error());
    const auto exact_values = reference_.truth_bytes(truth, exact.offset + at / element_bytes * exact_bytes,
                                                     bytes / element_bytes * exact_bytes, exact_buffer);
    if (!exact_values) return stop(exact_values.error());
    comparison.add({exact.dtype, *exact_values}, {tensor.dtype, expected}, {tensor.dtype, got});
  }
  return comparison;
}

// Has the truth computed once more, with rounded inputs and parameters, and adds the difference to the comparison. Adds
// nothing where that cannot be computed.
Step<void> SubmissionSide::add_rounding(const Plan& plan, const ReferenceSide::TruthRequest& request,
                                        std::size_t output, const ReferenceSide::Truth& truth,
                                        TruthComparison& comparison) {
  KQ_TRY_VALUE(const auto rounded, reference_.compute_truth(plan, request));
  if (!rounded.memory || rounded.kind != truth.kind) return {};
  const Tensor& exact = truth.outputs[output];
  const Tensor& exact_of_rounded = rounded.outputs[output];
  if (exact_of_rounded.dtype != exact.dtype) return {};
  for (std::uint64_t at = 0; at < exact.bytes; at += kTruthPieceBytes) {
    const std::uint64_t bytes = std::min(kTruthPieceBytes, exact.bytes - at);
    const auto values = reference_.truth_bytes(truth, exact.offset + at, bytes, piece_buffers_.exact);
    if (!values) return stop(values.error());
    const auto rounded_values =
        reference_.truth_bytes(rounded, exact_of_rounded.offset + at, bytes, piece_buffers_.expected);
    if (!rounded_values) return stop(rounded_values.error());
    comparison.add_rounded({exact.dtype, *values}, {exact_of_rounded.dtype, *rounded_values});
  }
  return {};
}

// Explains a wrong output in one sentence and in columns. What it looks like decides only about a hint, so a failed
// read leaves the hint out.
Evidence SubmissionSide::explain(const Trial& trial, const Expectation& expectation, std::size_t output,
                                 const Tensor& got, const Comparison& comparison, const TruthFinding& finding) {
  const Tensor& expected = expectation.outputs[output];
  Mismatch mismatch = comparison.mismatch();
  mismatch.trial = trial.number;
  mismatch.output = static_cast<std::uint32_t>(output);
  mismatch.worst_place = place_of(expected.shape, comparison.worst());
  const bool is_tensor = expected.kind == channel::Kind::tensor && got.kind == channel::Kind::tensor;
  const auto looks = is_tensor ? look_at(trial, expectation, expected, comparison) : Appearance{};
  if (looks) mismatch.looks_like = looks->word;
  std::string message = output_name(output) + ", " + describe(expected) + ": " + std::to_string(mismatch.mismatched) +
                        " of " + std::to_string(mismatch.total) +
                        (mismatch.mismatched == 1 ? " elements differs" : " elements differ") + ", in trial " +
                        std::to_string(trial.number) + words_of(mismatch);
  if (finding.errors) message += words_of(*finding.errors);
  Evidence found = evidence(Stage::judge, comparison.reason(), message);
  if (looks) found.hint = looks->sentence;
  if (!unmatched_.empty()) {
    found.hint += (found.hint.empty() ? "" : "; ") +
                  ("these parameters and buffers have no partner of equal name and shape on the other side, so they "
                   "keep their own values: " +
                   unmatched_);
  }
  add_idle_kernels(found);
  found.mismatch = std::move(mismatch);
  found.truth = finding.errors;
  found.unmatched = unmatched_;
  return found;
}

Expected<Appearance> SubmissionSide::look_at(const Trial& trial, const Expectation& expectation, const Tensor& output,
                                             const Comparison& comparison) {
  const Mismatch mismatch = comparison.mismatch();
  const std::uint64_t element_bytes = channel::element_bytes(output.dtype);
  const Part part = part_to_look_at(output.shape, mismatch.total, mismatch.element);
  const std::uint64_t at = output.offset - reference_.layout().outputs.begin + part.begin * element_bytes;
  std::vector<std::byte> raw(part.elements * element_bytes);
  KQ_TRY(device_.read(raw, expectation.expected, at));
  const std::vector<double> expected = values_of(output.dtype, raw);
  KQ_TRY(device_.read(raw, expectation.snapshot, at));
  const std::vector<double> got = values_of(output.dtype, raw);
  const WrongOutput wrong{.shape = output.shape,
                          .begin = part.begin,
                          .expected = expected,
                          .got = got,
                          .unwritten = unwritten_elements(raw, at, element_bytes, trial.poison),
                          .tolerance = comparison.tolerance(),
                          .mismatched = mismatch.mismatched,
                          .total = mismatch.total,
                          .first = mismatch.element,
                          .last = comparison.last()};
  Appearance looks = appearance_of(wrong);
  if (looks.word == "unwritten" || looks.word == "zeros") return looks;
  const bool is_stale = reference_.any_earlier_trial([&](const Memory& earlier) {
    NearlyEqual nearly(part.elements, comparison.tolerance());
    for (std::uint64_t begin = 0; begin < raw.size(); begin += kStalePieceBytes) {
      const auto piece = std::span(raw).subspan(begin, std::min<std::uint64_t>(kStalePieceBytes, raw.size() - begin));
      const auto got_piece = std::span(got).subspan(begin / element_bytes, piece.size() / element_bytes);
      if (!device_.read(piece, earlier, at + begin) || !nearly.add(values_of(output.dtype, piece), got_piece))
        return false;
    }
    return nearly.is_equal();
  });
  return is_stale ? Appearance{"stale", "the output is that of an earlier trial, which had other inputs"} : looks;
}

// Returns the piece of an output that the degenerate-tolerance check reads. The piece follows from the random
// `slot_draw`, so no child can predict it before a timed call.
Region SubmissionSide::sampled_region(const Trial& trial, const Tensor& output) const {
  const std::uint64_t element_bytes = channel::element_bytes(output.dtype);
  const std::uint64_t elements = output.bytes / element_bytes;
  const std::uint64_t checked = std::min(elements, kSampleBytesMax / element_bytes);
  const std::uint64_t first = trial.slot_draw / memory_.window.slots % (elements - checked + 1);
  const std::uint64_t begin = output.offset + first * element_bytes;
  return {begin, begin + checked * element_bytes};
}

// Runs the degenerate-tolerance check of one output. Does nothing where zeros are not within the tolerance of the
// pieces that were read in the first trial.
Step<void> SubmissionSide::check_degenerate_tolerance(const Trial& trial, const Expectation& expectation,
                                                      std::size_t output, Tolerance tolerance) {
  // The check is called for tensors only: an earlier output without an entry is a plain value.
  zeros_may_pass_.resize(std::max(zeros_may_pass_.size(), output), false);
  const Tensor& tensor = expectation.outputs[output];
  const std::uint64_t element_bytes = channel::element_bytes(tensor.dtype);
  const std::uint64_t elements = tensor.bytes / element_bytes;
  const bool is_first = zeros_may_pass_.size() == output;
  if (is_first) zeros_may_pass_.push_back(false);
  if (elements == 0 || !is_floating(tensor.dtype)) return {};
  const std::uint64_t begin = tensor.offset - reference_.layout().outputs.begin;
  if (is_first) {
    const std::uint64_t checked = std::min(elements, kFirstPieceBytes / element_bytes);
    for (std::uint64_t piece = 0; piece < kFirstPieces && !zeros_may_pass_[output]; ++piece) {
      const std::uint64_t first = (elements - checked) * piece / (kFirstPieces - 1);
      const auto expected =
          checks_.numbers(tensor.dtype, {expectation.expected, begin + first * element_bytes}, checked * element_bytes);
      if (!expected) return stop(expected.error());
      zeros_may_pass_[output] = check_degenerate(*expected, *expected, tolerance).zeros_pass;
    }
  }
  if (!zeros_may_pass_[output]) return {};
  const Region part = sampled_region(trial, tensor);
  const std::uint64_t at = part.begin - reference_.layout().outputs.begin;
  const auto expected = checks_.numbers(tensor.dtype, {expectation.expected, at}, part.bytes());
  if (!expected) return stop(expected.error());
  const auto got = checks_.numbers(tensor.dtype, {expectation.snapshot, at}, part.bytes());
  if (!got) return stop(got.error());
  const DegenerateCheck found = check_degenerate(*expected, *got, tolerance);
  if (!found.zeros_pass || found.is_close || suspicion_) return {};
  suspicion_ = evidence(Stage::judge, "value",
                        output_name(output) + ", " + describe(tensor) +
                            ": zeros are within the tolerance, too, and in trial " + std::to_string(trial.number) +
                            " the output was hardly closer to the expected one than a constant is");
  suspicion_->hint = "give the problem an rtol and atol that are smaller than its expected outputs";
  return {};
}

}  // namespace kq::judge
