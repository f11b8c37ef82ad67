// Binds the arguments of a kernel to the tensors and numbers in the judge's tables:
//
//   input tensor    the parameter of forward() of that name, or else the reference's state of that name
//   output tensor   the next output of the reference, in the order of the arguments
//   inout tensor    the parameter of forward() of that name, changed in place; but if the reference returns more
//   tensors
//                   than the kernel has output tensors, it is the next output, which starts as a copy of the parameter
//   scalar          the value in the launch file, or else the parameter of forward() of that name
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpu_worker/channel/channel.h"
#include "gpu_worker/child/launcher/launch_plan.h"

namespace kq::launcher {

// The judge's tables of the page: each tensor and number with its name, type and shape.
struct Tables {
  std::vector<channel::TensorDesc> inputs;
  std::vector<channel::TensorDesc> outputs;
  std::vector<channel::TensorDesc> states;
};
// Copies the tables out of the page. The counts are limited to the size of each table.
Tables tables_of(const channel::Page& page);

// Where each argument of one kernel comes from, and the parameter list for its launch.
class Binding {
 public:
  // Fails with a sentence for the submitter if the arguments do not fit the problem.
  static tl::expected<Binding, std::string> bind(const LaunchPlan& plan, const Tables& tables);

  // An output that starts as a copy of an input: the two addresses in the window, and the size.
  struct Copy {
    std::uint64_t to = 0;
    std::uint64_t from = 0;
    std::uint64_t bytes = 0;
  };
  // Sets the address of every tensor for a window at `window`, with the offsets in the tables of `page`. Returns the
  // copies to make before the launch.
  const std::vector<Copy>& fill(std::uint64_t window, const channel::Page& page);
  // Returns the parameter list for cuLaunchKernel. It is valid until this object is moved or destroyed.
  void** parameters();

 private:
  enum class Source { none, input, output, state };  // none: a scalar
  struct Slot {
    std::uint64_t bits = 0;  // the parameter's value; a smaller parameter is its first bytes
    Source source = Source::none;
    std::size_t index = 0;
    bool is_copied = false;  // the output starts as a copy of input `from`
    std::size_t from = 0;
  };
  tl::expected<Slot, std::string> bind_tensor(const LaunchArg& arg, const Tables& tables);
  tl::expected<Slot, std::string> next_output(const LaunchArg& arg, const Tables& tables);

  bool inout_is_output_ = false;
  std::size_t outputs_bound_ = 0;
  std::vector<Slot> slots_;
  std::vector<void*> parameters_;
  std::vector<Copy> copies_;
};

}  // namespace kq::launcher
