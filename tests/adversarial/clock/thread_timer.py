# A timer that finishes the work later.
# expect: rejected async
# guard: host_thread
# run: wrong_answer value | wrong_answer nan | rejected async | harmless
# matrix: hostile: threading.Timer
import threading

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        threading.Timer(0.001, lambda: torch.relu(x, out=y)).start()
        return y
