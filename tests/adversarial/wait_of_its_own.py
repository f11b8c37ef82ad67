# Waits for its calls by code of its own, which looks ahead.
# expect: harmless | wrong_answer value | wrong_answer nan | wrong_answer mutated_input | rejected async | rejected tamper
# guard: review probes_harness
# run: harmless | wrong_answer value | wrong_answer nan | wrong_answer mutated_input | rejected async | rejected tamper
import gc

import torch
import torch.nn as nn

for found in gc.get_objects():
    if type(found).__name__ == "Stub":

        def wait(page, seen, seed, limit, own=found.wait_go):
            return own(page, seen, seed, limit)

        found.wait_go = wait


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
