# Does its work where no clock runs, on the inputs of the call before.
# expect: wrong_answer value | wrong_answer nan | rejected tamper
# guard: review probes_harness
# run: wrong_answer value | wrong_answer nan | rejected tamper
# gpu: no
import gc

import torch
import torch.nn as nn

KEPT = []
for found in gc.get_objects():
    if hasattr(found, "input_views") and hasattr(found, "channel"):

        def stage(own=found.stage, role=found):
            own()
            KEPT.append(torch.relu(role.views("inputs")[0].clone()))

        found._commands[7] = stage


class ModelNew(nn.Module):
    def forward(self, x):
        return KEPT[-1] if KEPT else torch.relu(x)
