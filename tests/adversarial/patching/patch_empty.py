# Fresh memory is never fresh.
# expect: wrong_answer value | wrong_answer nan
# guard: review patches_torch
# run: wrong_answer value | wrong_answer nan
# gpu: no
import torch
import torch.nn as nn

KEPT = torch.zeros(64, 64)
torch.empty_like = lambda *a, **k: KEPT


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.empty_like(x)
