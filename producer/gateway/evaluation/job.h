// Makes a job of kq from a request of the evaluation server's clients.
//
//   /compare     the reference becomes the problem, the custom kernel the submission
//   /evaluate    a Python kernel is its own reference; a kernel whose outputs its IOContract describes has none: the
//                problem then only checks that its outputs were written
//
// A problem is the reference's source as it is, where it has get_inputs() and nothing else is asked for; else the
// source and producer/gateway/evaluation/reference_side.py. Both kernels get the same inputs. Those of the reference's
// IOContract go before those of the custom kernel's, whose further tensors are drawn as it says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "producer/gateway/evaluation/kernel_code.h"
#include "producer/gateway/settings.h"
#include "producer/submit/pack.h"

namespace kq::gateway::evaluation {

struct EvaluationJob {
  producer::PackedJob job;           // without a label
  std::vector<std::string> notes{};  // what the request says and kq does otherwise, for people
};

// Returns the job, or what is wrong with the request.
tl::expected<EvaluationJob, BodyError> job_of(const EvaluationRequest& request, const EvaluationSettings& settings);

// Tags of the job, from which the gateway makes the answer.
inline constexpr std::string_view kRequestTag = "request";  // "evaluate" or "compare"
inline constexpr std::string_view kKernelTypeTag = "kernel_type";
inline constexpr std::string_view kKernelNameTag = "kernel_name";
inline constexpr std::string_view kTrialsTag = "num_trials";
inline constexpr std::string_view kTimeoutTag = "timeout";
inline constexpr std::string_view kGpuTypeTag = "gpu_type";  // where the operator names it

// The program that the gateway puts behind the source of a reference; the build makes it from reference_side.py.
extern const std::string_view kReferenceSide;

}  // namespace kq::gateway::evaluation
