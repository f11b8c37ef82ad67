// A problem: the reference that a submission must match, and the tolerances.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/base/enum_names.h"
#include "core/bytes/hash.h"

namespace kq {

// The type to which floating-point inputs, parameters and buffers are cast before anything runs. Integers and booleans
// are never cast.
enum class Precision { as_given, fp32, fp16, bf16 };
constexpr std::array<std::string_view, 4> enum_names(Precision) {
  return {"as_given", "fp32", "fp16", "bf16"};
}

// One set of input shapes and seeds of a problem. A KernelBench problem has exactly one, which get_inputs() returns.
struct Workload {
  std::string name = "default";

  friend bool operator==(const Workload&, const Workload&) = default;
};

struct Problem {
  std::string name;  // a name for people: "relu", "level1/19_ReLU"
  std::string file;  // the file name of the reference source, without a directory
  // The hash of the reference source. Boards are keyed by it, so a reference that was made slower has another board.
  Hash hash;
  Precision precision = Precision::as_given;
  // Without a value the tolerances depend on the data type (gpu_worker/judge/check/compare.h).
  std::optional<double> rtol;
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
