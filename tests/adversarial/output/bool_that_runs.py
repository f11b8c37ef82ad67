# A number that does something when it is looked at.
# expect: runtime_error | wrong_answer shape | wrong_answer value | wrong_answer dtype
# guard: clean
# run: runtime_error | wrong_answer shape | wrong_answer value | wrong_answer dtype
import torch
import torch.nn as nn

class Number(int):
    def __index__(self):
        raise SystemExit(0)


class ModelNew(nn.Module):
    def forward(self, x):
        return Number(1)
