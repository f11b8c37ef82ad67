# A tensor that claims to lie where the output belongs, so that nobody brings it there.
# expect: rejected policy
# guard: tensor_subclass
# run: wrong_answer value | wrong_answer nan
import sys

import torch
import torch.nn as nn

class Forged(torch.Tensor):
    def data_ptr(self):
        frame = sys._getframe(1)
        view = frame.f_locals.get('view')
        return view.data_ptr() if view is not None else super().data_ptr()

    def is_contiguous(self, *args):
        return True


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.zeros_like(x).as_subclass(Forged)
