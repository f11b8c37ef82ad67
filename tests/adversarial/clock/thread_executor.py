# An executor, imported by name.
# expect: rejected async
# guard: host_thread
# run: wrong_answer value | wrong_answer nan | rejected async | harmless
# matrix: hostile: executor by from-import
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn as nn

POOL = ThreadPoolExecutor(1)


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        POOL.submit(lambda: y.copy_(torch.relu(x)))
        return y
