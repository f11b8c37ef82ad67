#include "gpu_worker/judge/device/records.h"

#include <algorithm>

namespace kq::judge {
namespace {

void add(ErrorRecord& sum, const ErrorRecord& next) {
  sum.max_abs_err = std::max(sum.max_abs_err, next.max_abs_err);
  sum.max_rel_err = std::max(sum.max_rel_err, next.max_rel_err);
  if (next.wrong == 0) return;
  sum.first = sum.wrong == 0 ? next.first : std::min(sum.first, next.first);
  sum.last = std::max(sum.last, next.last);
  sum.wrong += next.wrong;
  sum.not_finite += next.not_finite;
  const bool is_worse = next.worst_excess > sum.worst_excess;
  if (!is_worse && (next.worst_excess < sum.worst_excess || next.worst >= sum.worst)) return;
  sum.worst_excess = next.worst_excess;
  sum.worst = next.worst;
}

void add(TruthRecord& sum, const TruthRecord& next) {
  sum.count += next.count;
  sum.truth_squares += next.truth_squares;
  sum.submission_squares += next.submission_squares;
  sum.submission_largest = std::max(sum.submission_largest, next.submission_largest);
  sum.reference_squares += next.reference_squares;
  sum.reference_largest = std::max(sum.reference_largest, next.reference_largest);
  sum.beyond += next.beyond;
  sum.wrong_form += next.wrong_form;
  sum.special_truth += next.special_truth;
}

template <class Record>
Record merged_in_order(std::span<const Record> records) {
  Record sum;
  for (const Record& record : records) add(sum, record);
  return sum;
}

}  // namespace

ErrorRecord merged(std::span<const ErrorRecord> records) {
  return merged_in_order(records);
}

TruthRecord merged(std::span<const TruthRecord> records) {
  return merged_in_order(records);
}

}  // namespace kq::judge
