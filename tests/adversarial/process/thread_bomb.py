# Starts threads without end.
# expect: rejected async
# guard: host_thread
# run: runtime_error | out_of_memory host | timed_out run
# row: 65
import threading
import time

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for _ in range(100_000):
            threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
