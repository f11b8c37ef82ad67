// The truth: the outputs of a reference, computed as exactly as can be had, and the errors that are measured by it.
//
// A reference that runs in TF32, or that sums in an unlucky order, is itself far from the exact result. Where an output
// is not within the tolerance of the reference, the judge has the reference computed once more, in float64 if possible,
// and asks whether the submission is as near to that as the reference is (gpu_worker/judge/check/truth.h).
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/base/enum_names.h"

namespace kq {

// A precision to which a submission may round its inputs and parameters.
enum class AllowedPrecision { none, tf32, fp16, bf16 };
constexpr std::array<std::string_view, 4> enum_names(AllowedPrecision) {
  return {"none", "tf32", "fp16", "bf16"};
}

// A submission is no farther from the truth than its reference where the RMS of its errors is at most kTruthRms times
// that of the reference, and its largest error at most kTruthMax times. Two honest orders of summation differ by less
// than that, and TF32 in place of float32 by hundreds.
inline constexpr double kTruthRms = 2;
inline constexpr double kTruthMax = 4;
inline constexpr double kTruthFactorMax = 1000;  // the largest factor that a submission may ask for

// How a submission is measured by the truth. It is part of the key where it differs from the default.
struct TruthRule {
  bool is_used = true;
  double rms = kTruthRms;
  double max = kTruthMax;
  AllowedPrecision allowed = AllowedPrecision::none;

  friend bool operator==(const TruthRule&, const TruthRule&) = default;
};

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

template <class V>
void fields(V& v, TruthRule& x) {
  v("used", x.is_used);
  v("rms", x.rms);
  v("max", x.max);
  v("allow_precision", x.allowed);
}
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

}  // namespace kq
