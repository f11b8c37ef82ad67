# An exception whose words raise another one.
# expect: runtime_error
# guard: clean
# run: runtime_error
import torch
import torch.nn as nn

class Bad(Exception):
    def __str__(self):
        raise Bad()


class ModelNew(nn.Module):
    def forward(self, x):
        raise Bad()
