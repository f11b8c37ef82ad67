#include "core/verdict.h"

#include <utility>

#include "core/base/check.h"

namespace kq {
namespace {

constexpr bool table_is_in_order() {
  if (std::size(kVerdicts) != kEnumNames<VerdictName>.size()) return false;
  for (std::size_t i = 0; i < std::size(kVerdicts); ++i) {
    if (static_cast<std::size_t>(kVerdicts[i].name) != i) return false;
  }
  return true;
}
static_assert(table_is_in_order());

}  // namespace

Verdict ended(VerdictName name, Evidence evidence) {
  KQ_CHECK(!row_of(name).measured);
  return Ended{name, std::move(evidence)};
}

VerdictName name_of(const Verdict& verdict) {
  if (std::holds_alternative<Passed>(verdict)) return VerdictName::passed;
  if (std::holds_alternative<Suspect>(verdict)) return VerdictName::suspect;
  return std::get<Ended>(verdict).name;
}

Fault fault_of(const Verdict& verdict) {
  const auto* suspect = std::get_if<Suspect>(&verdict);
  if (suspect != nullptr && suspect->evidence.reason == kSameInputs) return Fault::problem;
  return row_of(name_of(verdict)).fault;
}

const Evidence* evidence_of(const Verdict& verdict) {
  if (const auto* suspect = std::get_if<Suspect>(&verdict)) return &suspect->evidence;
  if (const auto* ended = std::get_if<Ended>(&verdict)) return &ended->evidence;
  return nullptr;
}

const Measurement* measurement_of(const Verdict& verdict) {
  if (const auto* passed = std::get_if<Passed>(&verdict)) return &passed->measurement;
  if (const auto* suspect = std::get_if<Suspect>(&verdict)) return &suspect->measurement;
  return nullptr;
}

const Correctness* correctness_of(const Verdict& verdict) {
  if (const auto* passed = std::get_if<Passed>(&verdict)) return &passed->correctness;
  if (const auto* suspect = std::get_if<Suspect>(&verdict)) return &suspect->correctness;
  return nullptr;
}

std::optional<std::string> decode_error(const Ended& ended) {
  if (!row_of(ended.name).measured) return std::nullopt;
  return "verdict '" + std::string(to_string(ended.name)) + "' without a measurement";
}

}  // namespace kq
