# Draws in a destructor, while its next call is staged. What it returns is right only where the generators did not stand yet as in that call.
# expect: harmless
# guard: clean
# run: harmless
# gpu: harmless | wrong_answer value
import weakref

import torch
import torch.nn as nn

states = []


class ModelNew(nn.Module):
    def forward(self, x):
        state = torch.get_rng_state()
        if states and torch.equal(states[-1], state):
            return torch.zeros_like(x)
        y = torch.relu(x)
        weakref.finalize(y, lambda: states.append(torch.get_rng_state()))
        return y
