# An exception whose words never come.
# expect: timed_out run
# guard: clean
# run: timed_out run
import torch
import torch.nn as nn

class Bad(Exception):
    def __str__(self):
        while True:
            pass


class ModelNew(nn.Module):
    def forward(self, x):
        raise Bad()
