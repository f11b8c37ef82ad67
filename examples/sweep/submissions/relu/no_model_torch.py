"""Holds a right function, but no ModelNew."""

import torch


def relu(x):
    return torch.relu(x)
