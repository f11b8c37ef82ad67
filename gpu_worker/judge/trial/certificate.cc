#include "gpu_worker/judge/trial/certificate.h"

#include <algorithm>
#include <utility>

#include "gpu_worker/judge/check/value_change.h"
#include "gpu_worker/judge/device/clock.h"

namespace kq::judge {
namespace {

// Of a tensor this much is compared first, because a difference is nearly always found there.
constexpr std::uint64_t kFirstBytes = 64u << 10;

// Outputs of one trial that are kept beside the current one.
struct KeptOutputs {
  std::unique_ptr<Memory> memory;  // laid out like ReferenceSide::expected_outputs()
  std::vector<Tensor> rows;        // with the plain values
};

std::vector<Tensor> zero_rows(std::vector<Tensor> rows) {
  for (Tensor& row : rows) row.integer = 0, row.real = 0;
  return rows;
}

// Looks at one workload of a problem.
class Certifier {
 public:
  Certifier(Device& device, ReferenceSide& reference, const Plan& plan, const Draw& draw)
      : device_(device), reference_(reference), plan_(plan), draw_(draw), checks_(device) {}

  Step<void> run(const std::string& workload, ProblemCertificate& certificate) {
    workload_ = workload;
    const std::int64_t start_ns = clock_ns();
    const Seeds first{.inputs = draw_(), .calls = draw_()};
    KQ_TRY(reference_.make_trial(plan_, first));
    KQ_TRY(observe());
    auto memory = device_.make_private(reference_.layout().outputs.bytes());
    if (!memory) return stop(memory.error());
    if (!*memory) return {};  // nothing is known about a problem that fills the device
    kept_.memory = std::move(*memory);
    KQ_TRY_VALUE(const bool do_zeros_pass, zeros_pass());
    KQ_TRY_VALUE(const bool does_input_pass, first_input_passes());
    KQ_TRY(keep_outputs());
    bool may_be_constant = true;  // all outputs so far were the same, byte for byte
    bool may_pass_constant = !do_zeros_pass;
    const int trial_count = is_of_few_bytes() ? kCertificateTrialsOfFewBytes : kCertificateTrials;
    int trials = 1;
    for (; trials < trial_count && (trials == 1 || may_be_constant || may_pass_constant || inputs_.never_changed());
         ++trials) {
      if (clock_ns() - start_ns > kCertificateNsMax) break;
      KQ_TRY(reference_.make_trial(plan_, {.inputs = draw_(), .calls = draw_()}));
      KQ_TRY(observe());
      if (may_be_constant) {
        KQ_TRY_VALUE(may_be_constant, equal_kept());
      }
      if (may_pass_constant) {
        KQ_TRY_VALUE(may_pass_constant, passes(kept_));
      }
    }
    const bool is_complete = trials == trial_count;
    const bool are_inputs_same = inputs_.never_changed();
    if (is_complete && are_inputs_same) {
      warn(certificate, kSameInputs, "the inputs never vary, so a kernel that returns outputs it has kept passes");
    } else if (is_complete && may_be_constant && has_elements()) {
      invalidate(certificate, constant_outputs());
      return {};
    } else if (is_complete && may_pass_constant && has_elements()) {
      warn(certificate, kConstantPasses,
           "a kernel that returns the same outputs for all inputs passes: the outputs vary too little from call to "
           "call");
    }
    if (do_zeros_pass)
      warn(certificate, kZerosPass, "a kernel that returns zeros passes: the tolerance is too wide for such outputs");
    if (does_input_pass)
      warn(certificate, "first_input", "a kernel that returns its first input passes, although the outputs differ");
    return find_state(first, certificate);
  }

 private:
  Step<void> observe() {
    const auto observed = inputs_.observe(device_, reference_.input_copies(), reference_.inputs());
    return observed ? Step<void>() : stop(observed.error());
  }

  std::uint64_t offset_of(const Tensor& output) const { return output.offset - reference_.layout().outputs.begin; }

  bool has_elements() const {
    return std::ranges::any_of(reference_.outputs(), [](const Tensor& output) {
      return output.kind != channel::Kind::none && (output.kind != channel::Kind::tensor || output.bytes > 0);
    });
  }

  bool is_of_few_bytes() const {
    std::uint64_t bytes = 0;
    for (const Tensor& output : reference_.outputs())
      bytes += output.kind == channel::Kind::tensor ? output.bytes : sizeof output.integer;
    return bytes <= kFewBytes;
  }

  // Keeps a copy of the current trial's outputs.
  Step<void> keep_outputs() {
    kept_.rows = reference_.outputs();
    const auto copied =
        device_.copy(*kept_.memory, 0, reference_.expected_outputs(), 0, reference_.layout().outputs.bytes());
    return copied ? Step<void>() : stop(copied.error());
  }

  // Returns whether the kept outputs are those of the current trial, byte for byte.
  Step<bool> equal_kept() {
    for (std::size_t i = 0; i < kept_.rows.size(); ++i) {
      const Tensor& output = reference_.outputs()[i];
      if (output.integer != kept_.rows[i].integer || output.real != kept_.rows[i].real) return false;
      if (output.kind != channel::Kind::tensor) continue;
      const std::uint64_t at = offset_of(output);
      const auto difference =
          checks_.difference(Location{reference_.expected_outputs(), at}, {*kept_.memory, at}, output.bytes);
      if (!difference) return stop(difference.error());
      if (difference->has_value()) return false;
    }
    return true;
  }

  // Returns whether outputs pass in place of the current trial's.
  Step<bool> passes(const KeptOutputs& got) {
    return reference_.has_check() ? passes_check(got) : passes_tolerance(got);
  }

  Step<bool> passes_tolerance(const KeptOutputs& got) {
    for (std::size_t i = 0; i < got.rows.size(); ++i) {
      const Tensor& output = reference_.outputs()[i];
      const Location place{*got.memory, offset_of(output)};
      KQ_TRY_VALUE(const bool is_right, passes_as(output, got.rows[i], place));
      if (!is_right) return false;
    }
    return true;
  }

  // Returns whether the values of `got`, or the tensor at `place`, pass as this output.
  Step<bool> passes_as(const Tensor& output, const Tensor& got, const Location& place) {
    const bool is_tensor = output.kind == channel::Kind::tensor;
    const PlainValue plain = plain_value(output);
    const channel::Dtype dtype = is_tensor ? output.dtype : plain.dtype;
    const Tolerance tolerance = tolerance_for(dtype, plan_.rtol, plan_.atol, output.tolerance);
    if (!is_tensor) {
      Comparison comparison(dtype, tolerance);
      comparison.add(plain.bytes, plain_value(got).bytes);
      return comparison.equal();
    }
    const Location expected{reference_.expected_outputs(), offset_of(output)};
    const bool may_differ = tolerance.matched < 1;  // so only the whole tensor is conclusive
    if (!may_differ && output.bytes > kFirstBytes) {
      KQ_TRY_VALUE(const bool is_begin_right, agree(dtype, tolerance, expected, place, kFirstBytes));
      if (!is_begin_right) return false;
    }
    return agree(dtype, tolerance, expected, place, output.bytes);
  }

  Step<bool> agree(channel::Dtype dtype, Tolerance tolerance, const Location& expected, const Location& got,
                   std::uint64_t bytes) {
    Comparison comparison(dtype, tolerance);
    const auto compared = checks_.compare(comparison, expected, got, bytes);
    return compared ? Step<bool>(comparison.equal()) : stop(compared.error());
  }

  // Asks check() of the problem. A check() that raises lets nothing pass.
  Step<bool> passes_check(const KeptOutputs& got) {
    const auto sentence = reference_.run_check(plan_, {.inputs = reference_.inputs(),
                                                       .input_copies = reference_.input_copies(),
                                                       .expected = reference_.expected_outputs(),
                                                       .outputs = reference_.outputs(),
                                                       .got = *got.memory,
                                                       .got_outputs = got.rows});
    if (sentence) return sentence->empty();
    if (std::holds_alternative<Error>(sentence.error()) || !reference_.usable())
      return tl::unexpected(sentence.error());
    return false;
  }

  Step<bool> zeros_pass() {
    if (!has_elements()) return false;
    kept_.rows = zero_rows(reference_.outputs());
    const auto filled = device_.fill(*kept_.memory, 0, reference_.layout().outputs.bytes(), 0);
    if (!filled) return stop(filled.error());
    return passes(kept_);
  }

  // Returns whether the first tensor among the inputs passes as the only output, although it is another one.
  Step<bool> first_input_passes() {
    const auto is_tensor = [](const Tensor& one) { return one.kind == channel::Kind::tensor; };
    const auto input = std::ranges::find_if(reference_.inputs(), is_tensor);
    if (reference_.has_check() || reference_.outputs().size() != 1 || input == reference_.inputs().end()) return false;
    const Tensor& output = reference_.outputs().front();
    if (!is_tensor(output) || !difference(output, *input).reason.empty() || output.bytes == 0) return false;
    const auto pieces = reference_.input_copies().pieces({input->offset, input->offset + input->bytes});
    if (pieces.size() != 1) return false;
    const Location place{pieces.front().at.memory, pieces.front().at.offset};
    KQ_TRY_VALUE(const bool is_right, passes_as(output, output, place));
    if (!is_right) return false;
    const auto change =
        checks_.difference(Location{reference_.expected_outputs(), offset_of(output)}, place, output.bytes);
    if (!change) return stop(change.error());
    return change->has_value();
  }

  // Repeats the first trial, whose outputs are kept. Other outputs show that the reference keeps state.
  Step<void> find_state(const Seeds& first, ProblemCertificate& certificate) {
    KQ_TRY(reference_.make_trial(plan_, first));
    KQ_TRY_VALUE(const bool is_same, passes_tolerance(kept_));
    if (is_same) return {};
    Evidence found = evidence(Stage::judge, "state",
                              "the reference disagrees with itself: after calls on other inputs it returns other "
                              "outputs for the same inputs and seed");
    found.hint = "the model must not keep state between calls, and must be deterministic under torch's seed";
    invalidate(certificate, std::move(found));
    return {};
  }

  void warn(ProblemCertificate& certificate, std::string_view name, const std::string& message) const {
    if (certificate.warnings.size() == kProblemWarningsMax) return;
    certificate.warnings.push_back({std::string(name), named(message)});
  }
  void invalidate(ProblemCertificate& certificate, Evidence found) const {
    if (certificate.invalid) return;
    found.message = named(found.message);
    certificate.invalid = std::move(found);
  }
  std::string named(const std::string& message) const {
    return workload_.empty() ? message : "workload " + workload_ + ": " + message;
  }

  Device& device_;
  ReferenceSide& reference_;
  const Plan& plan_;
  const Draw& draw_;
  MemoryChecks checks_;
  std::string workload_;
  ValueChange inputs_;
  KeptOutputs kept_;
};

}  // namespace

Step<void> certify(Device& device, ReferenceSide& reference, const Plan& plan, const Draw& draw,
                   const std::string& workload, ProblemCertificate& certificate) {
  return Certifier(device, reference, plan, draw).run(workload, certificate);
}

Evidence constant_outputs() {
  Evidence found = evidence(Stage::judge, "constant",
                            "the reference returned the same outputs for all inputs, so a submission that computes "
                            "nothing would be right");
  found.hint = "the outputs of a problem must depend on its inputs: its weights must not be zero, for example";
  return found;
}

}  // namespace kq::judge
