# Dies in a way that leaves a core file.
# expect: crashed signal 6
# guard: review process
# run: crashed signal 6
import os
import resource

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
        os.abort()
