#include "gpu_worker/judge/device/cuda_measure.h"

#include "gpu_worker/judge/device/cuda_text.h"
#include "gpu_worker/judge/device/records.h"

namespace kq::judge::cuda {
namespace {

// The registers that both kernels have. They and the texts below are parts of one kernel.
constexpr std::string_view kRegisters = R"(.reg .pred %p, %q;
  .reg .b16 %half;
  .reg .b32 %word, %low, %high, %block, %threads, %thread, %blocks;
  .reg .b64 %expected, %got, %n, %records, %i, %step, %at;
  .reg .f32 %single;
  .reg .f64 %value, %e, %g, %rtol, %atol, %size, %error, %limit;
  ld.param.u64 %expected, [expected];
  ld.param.u64 %got, [got];
  ld.param.u64 %n, [n];
  ld.param.f64 %rtol, [rtol];
  ld.param.f64 %atol, [atol];
  ld.param.u64 %records, [records];
  cvta.to.global.u64 %expected, %expected;
  cvta.to.global.u64 %got, %got;
  cvta.to.global.u64 %records, %records;)";

// Loads the number at %i of the memory FROM into TO. SIZE and LOAD are replaced, too.
constexpr std::string_view kLoad = R"(mad.lo.u64 %at, %i, SIZE, FROM;
  LOAD
  mov.f64 TO, %value;)";

// Sets %at to the address of the record of this thread, which has BYTES bytes.
constexpr std::string_view kOwnRecord = R"(mul.wide.u32 %i, %block, %threads;
  cvt.u64.u32 %at, %thread;
  add.u64 %i, %i, %at;
  mad.lo.u64 %at, %i, BYTES, %records;)";

// Branches to COMPARED where both numbers are NaN or equal infinities.
constexpr std::string_view kEqualSpecials = R"(setp.eq.f64 %p, %e, %g;
  @%p bra COMPARED;
  testp.notanumber.f64 %p, %e;
  testp.notanumber.f64 %q, %g;
  and.pred %p, %p, %q;
  @%p bra COMPARED;)";

// Branches to COMPARED where %error is within the tolerance of %size.
constexpr std::string_view kWithin = R"(mul.rn.f64 %limit, %rtol, %size;
  add.rn.f64 %limit, %atol, %limit;
  setp.le.f64 %p, %error, %limit;
  @%p bra COMPARED;)";

// Both kernels have one way back to NEXT, so that the threads of a warp come together again after each element. All
// comparisons are false for NaN, and maxima are chosen by them as on the host. The rounding of each operation is named,
// which keeps the assembler from fusing two of them.
//
// MEASURE. %size is |expected|. The excess is infinite where the error is not finite.
constexpr std::string_view kMeasure = R"(
.visible .entry NAME(.param .u64 expected, .param .u64 got, .param .u64 n, .param .f64 rtol, .param .f64 atol,
                     .param .u64 records)
{
  REGISTERS
  .reg .b64 %here, %wrong, %not_finite, %first, %last, %worst;
  .reg .f64 %relative, %excess, %worst_excess, %max_abs, %max_rel;
  mov.u64 %wrong, 0;
  mov.u64 %not_finite, 0;
  mov.u64 %first, 0;
  mov.u64 %last, 0;
  mov.u64 %worst, 0;
  mov.f64 %worst_excess, 0dBFF0000000000000;
  mov.f64 %max_abs, 0d0000000000000000;
  mov.f64 %max_rel, 0d0000000000000000;
  EACH
  GET_EXPECTED
  GET_GOT
  mov.u64 %here, %i;
  add.u64 %i, %i, %step;
  testp.finite.f64 %p, %e;
  @!%p bra SPECIAL_EXPECTED;
  testp.finite.f64 %p, %g;
  @!%p bra SPECIAL_GOT;
  sub.rn.f64 %error, %g, %e;
  abs.f64 %error, %error;
  abs.f64 %size, %e;
  setp.gt.f64 %p, %error, %max_abs;
  selp.f64 %max_abs, %error, %max_abs, %p;
  setp.eq.f64 %p, %size, 0d0000000000000000;
  @%p bra NO_RELATIVE;
  div.rn.f64 %relative, %error, %size;
  setp.gt.f64 %p, %relative, %max_rel;
  selp.f64 %max_rel, %relative, %max_rel, %p;
NO_RELATIVE:
  WITHIN
  testp.finite.f64 %p, %error;
  @!%p bra UNBOUNDED;
  setp.lt.f64 %p, %limit, 0d0010000000000000;
  selp.f64 %limit, 0d0010000000000000, %limit, %p;
  div.rn.f64 %excess, %error, %limit;
  bra WRONG;
SPECIAL_EXPECTED:
  EQUAL_SPECIALS
  bra UNBOUNDED;
SPECIAL_GOT:
  add.u64 %not_finite, %not_finite, 1;
UNBOUNDED:
  mov.f64 %excess, 0d7FF0000000000000;
WRONG:
  setp.eq.u64 %p, %wrong, 0;
  selp.b64 %first, %here, %first, %p;
  mov.u64 %last, %here;
  add.u64 %wrong, %wrong, 1;
  setp.gt.f64 %p, %excess, %worst_excess;
  selp.f64 %worst_excess, %excess, %worst_excess, %p;
  selp.b64 %worst, %here, %worst, %p;
COMPARED:
  bra NEXT;
DONE:
  OWN_RECORD
  st.global.u64 [%at], %wrong;
  st.global.u64 [%at+8], %not_finite;
  st.global.u64 [%at+16], %first;
  st.global.u64 [%at+24], %last;
  st.global.u64 [%at+32], %worst;
  st.global.f64 [%at+40], %worst_excess;
  st.global.f64 [%at+48], %max_abs;
  st.global.f64 [%at+56], %max_rel;
  ret;
}
)";
static_assert(sizeof(ErrorRecord) == 64);

// TRUTH. %size is |truth|.
constexpr std::string_view kTruth = R"(
.visible .entry NAME(.param .u64 truth, .param .u64 expected, .param .u64 got, .param .u64 n, .param .f64 rtol,
                     .param .f64 atol, .param .u64 records)
{
  REGISTERS
  .reg .b64 %truth, %count, %beyond, %wrong_form, %special_truth;
  .reg .f64 %t, %square, %truth_squares, %squares, %largest, %reference_squares, %reference_largest;
  ld.param.u64 %truth, [truth];
  cvta.to.global.u64 %truth, %truth;
  mov.u64 %count, 0;
  mov.u64 %beyond, 0;
  mov.u64 %wrong_form, 0;
  mov.u64 %special_truth, 0;
  mov.f64 %truth_squares, 0d0000000000000000;
  mov.f64 %squares, 0d0000000000000000;
  mov.f64 %largest, 0d0000000000000000;
  mov.f64 %reference_squares, 0d0000000000000000;
  mov.f64 %reference_largest, 0d0000000000000000;
  EACH
  GET_TRUTH
  GET_EXPECTED
  GET_GOT
  add.u64 %i, %i, %step;
  testp.finite.f64 %p, %e;
  @!%p bra SPECIAL;
  testp.finite.f64 %p, %g;
  @!%p bra SPECIAL;
  testp.finite.f64 %p, %t;
  @!%p bra NO_TRUTH;
  add.u64 %count, %count, 1;
  mul.rn.f64 %square, %t, %t;
  add.rn.f64 %truth_squares, %truth_squares, %square;
  sub.rn.f64 %error, %e, %t;
  mul.rn.f64 %square, %error, %error;
  add.rn.f64 %reference_squares, %reference_squares, %square;
  abs.f64 %error, %error;
  setp.gt.f64 %p, %error, %reference_largest;
  selp.f64 %reference_largest, %error, %reference_largest, %p;
  sub.rn.f64 %error, %g, %t;
  mul.rn.f64 %square, %error, %error;
  add.rn.f64 %squares, %squares, %square;
  abs.f64 %error, %error;
  setp.gt.f64 %p, %error, %largest;
  selp.f64 %largest, %error, %largest, %p;
  abs.f64 %size, %t;
  WITHIN
  add.u64 %beyond, %beyond, 1;
  bra COMPARED;
NO_TRUTH:
  add.u64 %special_truth, %special_truth, 1;
  bra COMPARED;
SPECIAL:
  EQUAL_SPECIALS
  add.u64 %wrong_form, %wrong_form, 1;
COMPARED:
  bra NEXT;
DONE:
  OWN_RECORD
  st.global.u64 [%at], %count;
  st.global.f64 [%at+8], %truth_squares;
  st.global.f64 [%at+16], %squares;
  st.global.f64 [%at+24], %largest;
  st.global.f64 [%at+32], %reference_squares;
  st.global.f64 [%at+40], %reference_largest;
  st.global.u64 [%at+48], %beyond;
  st.global.u64 [%at+56], %wrong_form;
  st.global.u64 [%at+64], %special_truth;
  ret;
}
)";
static_assert(sizeof(TruthRecord) == 72);

std::string load(const NumberLoad& number, const char* from, const char* to) {
  return filled(kLoad, {{"SIZE", std::to_string(number.bytes)}, {"FROM", from}, {"TO", to}, {"LOAD", number.text}});
}

std::string own_record(std::size_t bytes) {
  return filled(kOwnRecord, {{"BYTES", std::to_string(bytes)}});
}

KernelText measure_text(const NumberLoad& number) {
  const std::string name = measure_kernel(number.format);
  return {name, filled(kMeasure, {{"NAME", name},
                                  {"REGISTERS", std::string(kRegisters)},
                                  {"EQUAL_SPECIALS", std::string(kEqualSpecials)},
                                  {"WITHIN", std::string(kWithin)},
                                  {"EACH", std::string(kEach)},
                                  {"GET_EXPECTED", load(number, "%expected", "%e")},
                                  {"GET_GOT", load(number, "%got", "%g")},
                                  {"OWN_RECORD", own_record(sizeof(ErrorRecord))}})};
}

KernelText truth_text(const NumberLoad& truth, const NumberLoad& number) {
  const std::string name = truth_kernel(truth.format, number.format);
  return {name, filled(kTruth, {{"NAME", name},
                                {"REGISTERS", std::string(kRegisters)},
                                {"EQUAL_SPECIALS", std::string(kEqualSpecials)},
                                {"WITHIN", std::string(kWithin)},
                                {"EACH", std::string(kEach)},
                                {"GET_TRUTH", load(truth, "%truth", "%t")},
                                {"GET_EXPECTED", load(number, "%expected", "%e")},
                                {"GET_GOT", load(number, "%got", "%g")},
                                {"OWN_RECORD", own_record(sizeof(TruthRecord))}})};
}

// Returns whether a truth can have this format.
bool is_of_truth(const NumberLoad& number) {
  return number.format == "float64" || number.format == "float32";
}

}  // namespace

std::string measure_kernel(std::string_view format) {
  return "kq_measure_" + std::string(format);
}

std::string truth_kernel(std::string_view truth_format, std::string_view format) {
  return "kq_truth_" + std::string(truth_format) + "_" + std::string(format);
}

std::vector<KernelText> measuring_kernels(std::span<const NumberLoad> loads) {
  std::vector<KernelText> kernels;
  for (const NumberLoad& number : loads) {
    kernels.push_back(measure_text(number));
    for (const NumberLoad& truth : loads) {
      if (is_of_truth(truth)) kernels.push_back(truth_text(truth, number));
    }
  }
  return kernels;
}

}  // namespace kq::judge::cuda
