// What must be computed: a reference and how closely it must be met.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "core/bytes/hash.h"

namespace kq {

// What floating-point inputs, parameters and buffers are cast to before anything runs. Integers and booleans are never
// cast.
enum class Precision { as_given, fp32, fp16, bf16 };
constexpr std::array<std::string_view, 4> enum_names(Precision) {
  return {"as_given", "fp32", "fp16", "bf16"};
}

// One shape and seed policy of a problem. KernelBench problems have exactly one: what get_inputs() returns.
struct Workload {
  std::string name = "default";

  friend bool operator==(const Workload&, const Workload&) = default;
};

struct Problem {
  std::string name;  // "relu", "level1/19_ReLU": for people
  std::string file;  // plain file name of the reference source
  Hash hash;         // of the reference source; boards are keyed by it, so a slowed-down reference is another board
  Precision precision = Precision::as_given;
  std::optional<double> rtol;  // otherwise by dtype, gpu_worker/judge/check/compare.h
  std::optional<double> atol;
  std::vector<Workload> workloads{Workload{}};

  friend bool operator==(const Problem&, const Problem&) = default;
};

template <class V>
void fields(V& v, Workload& x) {
  v("name", x.name);
}
template <class V>
void fields(V& v, Problem& x) {
  v("name", x.name);
  v("file", x.file);
  v("hash", x.hash);
  v("precision", x.precision);
  v("rtol", x.rtol);
  v("atol", x.atol);
  v("workloads", x.workloads);
}

}  // namespace kq
