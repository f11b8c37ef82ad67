# A tensor that computes when somebody looks.
# expect: rejected policy
# guard: tensor_subclass
# run: wrong_answer value
# row: 40
import torch
import torch.nn as nn

class Later(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})


class ModelNew(nn.Module):
    def forward(self, x):
        return x.as_subclass(Later)
