# A comment says what is not used.
# expect: passed
# guard: clean
# run: passed
# row: H1
# matrix: honest: comment mentions Stream()
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        # No torch.cuda.Stream() and no cudaStreamCreate() here: one stream is enough.
        return torch.relu(x)
