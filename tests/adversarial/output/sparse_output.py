# A sparse tensor.
# expect: wrong_answer
# guard: clean
# run: wrong_answer shape
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x).to_sparse()
