# The right values, put beyond the end of the input: a view of the window that was not handed out.
# expect: wrong_answer mutated_input | wrong_answer value | wrong_answer nan | runtime_error | crashed signal 11
# guard: clean
# run: wrong_answer mutated_input | wrong_answer value | wrong_answer nan | runtime_error | crashed signal 11
# gpu: no
import ctypes

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        size = x.numel() * 4
        behind = (ctypes.c_float * (2 * x.numel())).from_address(x.data_ptr())
        window = torch.frombuffer(behind, dtype=torch.float32)
        window[x.numel() :] = torch.relu(x).flatten()
        return torch.as_strided(window, x.shape, x.stride(), storage_offset=x.numel() // 2)
