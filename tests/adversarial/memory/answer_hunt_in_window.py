# Looks through all memory that it shares for the answer.
# expect: wrong_answer value
# guard: review reads_system
# run: wrong_answer value
# gpu: no
import ctypes

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for line in open('/proc/self/maps'):
            span, mode, *_, name = line.split()
            if mode.startswith('rw') and mode.endswith('s'):
                begin, end = (int(word, 16) for word in span.split('-'))
                floats = (end - begin) // 4
                room = torch.frombuffer((ctypes.c_float * floats).from_address(begin), dtype=torch.float32)
                for at in range(0, floats - x.numel() + 1, 64):
                    if torch.equal(room[at : at + x.numel()].reshape(x.shape), torch.relu(x)):
                        return torch.relu(x)
        return torch.zeros_like(x)
