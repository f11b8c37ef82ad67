# Writes a module into a folder beside its own file, and imports it from there.
# expect: passed
# guard: clean
# run: passed
import argparse
import os
import sys

import torch
import torch.nn as nn

parser = argparse.ArgumentParser()
parser.add_argument('--scale', type=int, default=1)
SCALE = parser.parse_args().scale
FOLDER = os.path.join(os.path.dirname(__file__), 'scratch')
os.makedirs(FOLDER)
with open(os.path.join(FOLDER, 'written.py'), 'w') as file:
    file.write('import torch\n\ndef relu(x):\n    return torch.relu(x)\n')
sys.path.insert(0, FOLDER)
import written


class ModelNew(nn.Module):
    def forward(self, x):
        return written.relu(x) * SCALE
