# Takes all room away from itself.
# expect: harmless | load_failed | out_of_memory host | runtime_error | crashed signal 11 | crashed signal 6
# guard: review process
# run: harmless | load_failed | out_of_memory host | runtime_error | crashed signal 11 | crashed signal 6
# gpu: no
import resource

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        resource.setrlimit(resource.RLIMIT_AS, (1 << 20, 1 << 20))
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
        return torch.relu(x)
