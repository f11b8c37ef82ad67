# The last rows are left undone.
# expect: wrong_answer value | wrong_answer nan
# guard: clean
# run: wrong_answer value | wrong_answer nan
# row: 47
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        rows = x.shape[0] * 95 // 100
        y[:rows] = torch.relu(x[:rows])
        return y
