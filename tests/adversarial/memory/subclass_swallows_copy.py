# A tensor whose copying does nothing.
# expect: rejected policy
# guard: tensor_subclass
# run: wrong_answer value | wrong_answer nan
import torch
import torch.nn as nn

class Swallow(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.Tensor.copy_:
            return args[0]
        return super().__torch_function__(func, types, args, kwargs or {})


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x).as_subclass(Swallow)
