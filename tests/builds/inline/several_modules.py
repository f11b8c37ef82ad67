import torch.nn as nn
import torch.utils.cpp_extension as ext

CPP = "torch::Tensor twice(torch::Tensor x);"
GOOD = """#include <torch/extension.h>
torch::Tensor above(torch::Tensor x) { return torch::relu(x); }
torch::Tensor doubled(torch::Tensor x) { return x * 2; }
"""
modules = {}
for name, source, functions in (
    ("several_above", GOOD, ["above"]),
    ("several_bad", GOOD.replace("torch::relu", "torch::rellu"), ["above"]),
    ("several_doubled", GOOD, ["doubled"]),
):
    try:
        modules[name] = ext.load_inline(name, [source], functions=functions, extra_cflags=["-O2"])
    except RuntimeError as error:
        modules[name] = str(error)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        assert isinstance(modules["several_bad"], str) and modules["several_bad"].startswith(
            "Error building extension 'several_bad'"
        )

    def forward(self, x):
        return modules["several_doubled"].doubled(modules["several_above"].above(x))
