# Fills every tensor that it can find.
# expect: wrong_answer nan | wrong_answer value | wrong_answer mutated_input | runtime_error
# guard: review probes_harness
# run: wrong_answer nan | wrong_answer value | wrong_answer mutated_input | runtime_error
# row: 36
import gc

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for found in gc.get_objects():
            if isinstance(found, torch.Tensor) and found.is_floating_point():
                found.fill_(float('nan'))
        return torch.relu(x)
