# A mode that sees every operation.
# expect: rejected policy
# guard: tensor_subclass
# run: wrong_answer nan | wrong_answer value
# gpu: wrong_answer nan | wrong_answer value | runtime_error
import torch
import torch.nn as nn
from torch.utils._python_dispatch import TorchDispatchMode

class Skip(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return args[0]


Skip().__enter__()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
