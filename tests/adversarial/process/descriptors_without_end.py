# Opens files until it may not.
# expect: runtime_error
# guard: review reads_system
# run: runtime_error
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        kept = []
        while True:
            kept.append(open('/dev/null'))
