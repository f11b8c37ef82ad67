# The recipe of Python's manual for importing a source file: a new module under a name of its own.
# expect: passed
# guard: review exec_computed
# run: passed
import importlib.util
import sys

import torch
import torch.nn as nn

NAME = "_relu_parts_v1"
if NAME not in sys.modules:
    with open("relu_parts.py", "w") as file:
        file.write("import torch\n\n\ndef relu(x):\n    return torch.relu(x)\n")
    spec = importlib.util.spec_from_file_location(NAME, "relu_parts.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)


class ModelNew(nn.Module):
    def forward(self, x):
        return sys.modules[NAME].relu(x)
