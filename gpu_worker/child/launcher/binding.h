// What the arguments of a kernel are, in the judge's tables:
//
//   input tensor    the parameter of forward() of that name, or else the reference's state of that name
//   output tensor   the next output of the reference, in the order of the arguments
//   inout tensor    an input of that name, changed in place; where the reference returns more than there are output
//   tensors, it is an
//                   output too, and works on a copy of the input
//   scalar          its value; where it has none, the parameter of forward() of that name
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpu_worker/channel/channel.h"
#include "gpu_worker/child/launcher/launch_plan.h"

namespace kq::launcher {

// The tables of the page, as the judge filled them.
struct Forms {
  std::vector<channel::TensorDesc> inputs;
  std::vector<channel::TensorDesc> outputs;
  std::vector<channel::TensorDesc> states;
};
Forms forms_of(const channel::Page& page);

class Binding {
 public:
  // The unexpected side says what does not fit the problem, for people.
  static tl::expected<Binding, std::string> bind(const LaunchPlan& plan, const Forms& forms);

  // An output that begins as a copy of an input: both in the window.
  struct Copy {
    std::uint64_t to = 0;
    std::uint64_t from = 0;
    std::uint64_t bytes = 0;
  };
  // Points every tensor into a window at `window`, laid out as these tables say, and returns what is to be copied
  // before the launch.
  const std::vector<Copy>& fill(std::uint64_t window, const channel::Page& page);
  // For cuLaunchKernel; valid as long as this object stays where it is.
  void** parameters();

 private:
  enum class Table { none, input, output, state };
  struct Slot {
    std::uint64_t bits = 0;  // of any parameter: none is larger, and smaller ones read its first bytes
    Table table = Table::none;
    std::size_t index = 0;
    bool is_copied = false;  // from input `from`
    std::size_t from = 0;
  };
  tl::expected<Slot, std::string> bind_tensor(const LaunchArg& arg, const Forms& forms);
  tl::expected<Slot, std::string> next_output(const LaunchArg& arg, const Forms& forms);

  bool inout_is_output_ = false;
  std::size_t outputs_bound_ = 0;
  std::vector<Slot> slots_;
  std::vector<void*> parameters_;
  std::vector<Copy> copies_;
};

}  // namespace kq::launcher
