# A forked copy of itself does the rest of the calls.
# expect: harmless | wrong_answer value | wrong_answer nan | rejected tamper | runtime_error | timed_out run
# guard: review process
# run: harmless | wrong_answer value | wrong_answer nan | rejected tamper | runtime_error | timed_out run
# gpu: wrong_answer value | wrong_answer nan | rejected tamper | runtime_error | timed_out run | gpu_fault
import os
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        if os.fork() != 0:
            time.sleep(1000)
        return torch.relu(x)
