# Becomes a program that ends well.
# expect: runtime_error
# guard: review process
# run: runtime_error
import os

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        os.execv('/bin/true', ['true'])
