# Leaves links, pipes, loops and forbidden names where it may write.
# expect: harmless
# guard: clean
# run: harmless
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        os.chdir('/kq/work')
        for name, call in {
            'up': lambda name: os.symlink('/etc/shadow', name), 'loop': lambda name: os.symlink('loop', name), 'root': lambda name: os.symlink('/', name),
            'pipe': lambda name: os.mkfifo(name), 'x' * 255: lambda name: os.mkdir(name, 0), '\n\x1b[2J': lambda name: os.mkdir(name),
            'locked': lambda name: os.close(os.open(name, os.O_CREAT, 0)),
        }.items():
            if not os.path.lexists(name):
                call(name)
        deep = '/kq/work'
        for _ in range(200):
            deep += '/d'
            if not os.path.exists(deep):
                os.mkdir(deep)
        return torch.relu(x)
