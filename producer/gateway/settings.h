// The settings of a gateway that its doors need.
#pragma once

#include <cstddef>
#include <string>

namespace kq::producer::popcorn {
class ProblemSet;
}

namespace kq::gateway {

// Settings of the evaluation server's requests, from the environment variables that the original server has.
struct EvaluationSettings {
  std::string gpu_device;       // GPU_DEVICE: "cpu", or a GPU such as "cuda" or "0"; empty: any device
  std::string gpu_type;         // GPU_TYPE: "h100"; empty: the model of the device that ran the job
  bool device_metrics = false;  // ENABLE_DEVICE_METRICS: whether jobs are profiled after they were timed
};

// Settings of popcorn-cli's requests.
struct PopcornSettings {
  producer::popcorn::ProblemSet* problems = nullptr;  // of --popcorn; null: none
  bool has_tokens = false;                            // whether a client must have a token as its id
};

}  // namespace kq::gateway
