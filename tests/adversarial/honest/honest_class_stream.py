# A class of the file's own that is called Stream.
# expect: passed
# guard: clean
# run: passed
# matrix: honest: python class called Stream
import torch
import torch.nn as nn

class Stream:
    def __init__(self):
        self.parts = []

    def wait_stream(self, other):
        return other


SIDE = Stream()


class ModelNew(nn.Module):
    def forward(self, x):
        return SIDE.wait_stream(torch.relu(x))
