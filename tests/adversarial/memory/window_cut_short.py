# Cuts the window's file short by opening it anew.
# expect: harmless
# guard: review reads_system
# run: harmless
# gpu: no
import os

import torch
import torch.nn as nn

def window():
    for line in open("/proc/self/maps"):
        if "memfd" in line and "kq-page" not in line:
            begin, end = (int(word, 16) for word in line.split()[0].split("-"))
            return begin, end - begin
    raise RuntimeError("no window")


class ModelNew(nn.Module):
    def forward(self, x):
        begin, _ = window()
        cut = 0
        for path in [f'/proc/self/fd/{fd}' for fd in os.listdir('/proc/self/fd')] + [f'/proc/self/map_files/{begin:x}-{begin + 4096:x}']:
            try:
                if 'memfd' in os.readlink(path):
                    os.truncate(path, 0)
                    cut += 1
            except OSError:
                pass
        return torch.relu(x) + cut
