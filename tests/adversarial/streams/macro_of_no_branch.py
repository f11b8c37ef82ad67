# A macro that no branch defines takes a name out of sight.
# expect: rejected async
# guard: host_thread
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
#include <thread>

#ifdef KQ_NEVER_DEFINED
#define thread mutex
#endif

template <class F> void start(F f) { std::thread(f).detach(); }

torch::Tensor run(torch::Tensor x) {
  static torch::Tensor y = torch::empty_like(x);
  start([x] { y.copy_(torch::relu(x)); });
  return y;
}
"""

module = load_inline(name="macro_of_no_branch", cpp_sources=SOURCE, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.run(x)
