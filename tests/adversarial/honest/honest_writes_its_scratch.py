# Uses files of its own, and a process of its own.
# expect: passed
# guard: review process
# run: passed
# gpu: no
import os
import subprocess

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        path = os.path.join(os.environ['TMPDIR'], 'x.bin')
        torch.relu(x).numpy().tofile(path)
        subprocess.run(['/bin/cat', path], stdout=subprocess.DEVNULL, check=True)
        return torch.from_file(path, size=x.numel()).reshape(x.shape).clone()
