# A loop that no polite signal ends.
# expect: timed_out run
# guard: review process
# run: timed_out run
# row: 71
import signal

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM, signal.SIGXCPU):
            signal.signal(number, signal.SIG_IGN)
        while True:
            pass
