# A thread of the lowest kind.
# expect: rejected async
# guard: host_thread
# run: wrong_answer value | wrong_answer nan | rejected async | harmless
# matrix: hostile: _thread
import _thread

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        _thread.start_new_thread(lambda: y.copy_(torch.relu(x)), ())
        return y
