// The probes of kq problem check: submissions that show what a problem cannot tell from a right kernel.
//
// A probe is the text of the problem with a class ModelNew behind it, which inherits from the problem's Model. So it
// takes the arguments of Model, has its weights, and knows the form of its outputs.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/enum_names.h"
#include "core/base/error.h"
#include "producer/submit/pack.h"

namespace kq::tools {

enum class Probe {
  reference,    // the problem's Model itself
  zeros,        // zeros in the form of the outputs
  constant,     // the outputs of the first call, whatever the inputs
  first_input,  // a copy of the first tensor among the inputs, where its form is that of the only output
  stateless     // the problem's Model, copied for every call
};
constexpr std::array<std::string_view, 5> enum_names(Probe) {
  return {"reference", "zeros", "constant", "first_input", "stateless"};
}

// The message of the error that first_input raises where the outputs have another form than the first input.
inline constexpr std::string_view kOtherForm = "kq-problem-other-form";
// The stateless probe prints this word for each workload, and then the bytes of all inputs, of all outputs, and of
// parameters and buffers.
inline constexpr std::string_view kBytesWord = "kq-problem-bytes";

// Returns the text of the probe for the text of a problem.
std::string probe_text(Probe probe, std::string_view problem);

// A problem and the jobs that look at it.
struct ProbedProblem {
  std::string file;                         // the path as given
  std::string mistake{};                    // why the file is no problem; then there are no jobs
  std::vector<producer::PackedJob> jobs{};  // one for each Probe, in their order
};

// Reads a problem and makes its jobs, whose labels start with `number`. The jobs select workloads by a pattern, so no
// board lists them. Returns bad input where the file cannot be read.
Expected<ProbedProblem> probe_problem(const std::string& file, std::size_t number, DeviceWish device);

// Returns the name of the run of these jobs. Equal jobs have the same run, so their results are found again.
std::string run_of(const std::vector<ProbedProblem>& problems);

}  // namespace kq::tools
