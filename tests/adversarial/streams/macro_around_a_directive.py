# A macro's call with a directive in it.
# expect: rejected async
# guard: host_thread
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <torch/extension.h>
#include <thread>

#define JOIN(a, b) a##b

template <class F> void start(F f) { std::JOIN(thr,
#pragma once
ead)(f).detach(); }

torch::Tensor run(torch::Tensor x) {
  static torch::Tensor y = torch::empty_like(x);
  start([x] { y.copy_(torch::relu(x)); });
  return y;
}
"""

module = load_inline(name="macro_around_a_directive", cpp_sources=SOURCE, functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return module.run(x)
