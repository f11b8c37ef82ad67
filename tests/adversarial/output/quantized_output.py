# A quantized tensor.
# expect: wrong_answer
# guard: clean
# run: wrong_answer shape
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.quantize_per_tensor(torch.relu(x), 0.1, 0, torch.quint8)
