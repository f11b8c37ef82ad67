# A class derived from Thread.
# expect: rejected async
# guard: host_thread
# run: wrong_answer value | wrong_answer nan | rejected async | harmless
import threading

import torch
import torch.nn as nn

class Later(threading.Thread):
    def run(self):
        pass


class ModelNew(nn.Module):
    def forward(self, x):
        Later().start()
        return torch.relu(x)
