"""Raises while it is imported: a package that nobody has."""

import torch
import torch.nn as nn

import kernels_left_on_my_laptop


class ModelNew(nn.Module):
    def forward(self, x):
        return kernels_left_on_my_laptop.relu(torch.as_tensor(x))
