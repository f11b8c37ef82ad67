# Looks for names that a worker may have in its environment.
# expect: harmless
# guard: review reads_system
# run: harmless
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        found = [name for name in os.environ if name.startswith(('KQ_', 'POPCORN', 'AWS', 'SSH', 'GITHUB')) and name != 'KQ_CUDA']
        found += [name for name in open('/proc/self/environ').read().split('\0') if 'KQ_KEY' in name or 'KQ_ADVERSARIAL' in name]
        return torch.relu(x) + len(found)
