# Answers with what its generator would draw next.
# expect: wrong_answer value
# guard: clean
# run: wrong_answer value
# gpu: no
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        state = torch.get_rng_state()
        torch.randn(64, 64)
        guess = torch.randn(64, 64)
        torch.set_rng_state(state)
        return torch.relu(guess)
