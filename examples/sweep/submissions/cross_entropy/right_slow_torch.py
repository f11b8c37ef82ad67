"""Right and slow: writes the whole softmax, and a one-hot matrix as large as the logits."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class ModelNew(nn.Module):
    def forward(self, logits, targets):
        one_hot = F.one_hot(targets, logits.shape[1]).to(logits.dtype)
        log_sums = torch.logsumexp(logits, dim=1, keepdim=True)
        return ((log_sums - logits) * one_hot).sum(dim=1)
