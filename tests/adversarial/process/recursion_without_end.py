# Recursion until there is no stack.
# expect: crashed signal 11 | runtime_error | timed_out run | out_of_memory host
# guard: clean
# run: crashed signal 11 | runtime_error | timed_out run | out_of_memory host
import sys

import torch
import torch.nn as nn

def deeper(x):
    return deeper(x) + 1


class ModelNew(nn.Module):
    def forward(self, x):
        sys.setrecursionlimit(10**9)
        return deeper(x)
