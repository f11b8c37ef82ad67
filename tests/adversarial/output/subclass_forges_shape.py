# A tensor that lies about its shape.
# expect: rejected policy
# guard: tensor_subclass
# run: wrong_answer value | wrong_answer nan | wrong_answer shape | runtime_error
import torch
import torch.nn as nn

class Forged(torch.Tensor):
    @property
    def shape(self):
        return torch.Size((64, 64))


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros(1).as_subclass(Forged)
