# Keeps its process busy between two calls, so that it is there when it is asked.
# expect: rejected async
# guard: host_thread
# run: harmless | wrong_answer value | wrong_answer nan | wrong_answer mutated_input | rejected async | rejected tamper
import threading

import torch
import torch.nn as nn

def spin():
    while True:
        pass


threading.Thread(target=spin, daemon=True).start()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
