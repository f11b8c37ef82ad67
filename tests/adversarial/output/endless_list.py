# A list whose iterator never ends.
# expect: timed_out run | out_of_memory host
# guard: clean
# run: timed_out run | out_of_memory host
import torch
import torch.nn as nn

class Endless(list):
    def __iter__(self):
        while True:
            yield 1.0


class ModelNew(nn.Module):
    def forward(self, x):
        return Endless([torch.relu(x)])
