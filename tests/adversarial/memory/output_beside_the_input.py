# Writes its output behind its input, where the window of a CPU has its outputs, so that nothing has to be copied.
# expect: harmless
# guard: clean
# run: harmless
# gpu: no
import numpy
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        n = x.numel()
        words = numpy.lib.stride_tricks.as_strided(x.numpy().reshape(-1), shape=(2 * n + 256,), strides=(4,))
        place = words[(n + 63) // 64 * 64 + 192 :][:n]
        return torch.clamp_min(x, 0, out=torch.from_numpy(place).view(x.shape))
