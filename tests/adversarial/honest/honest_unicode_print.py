# Prints words of many languages.
# expect: passed
# guard: clean
# run: passed
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        print('größer als null: ', 'ноль', '零', chr(0x1F600))
        return torch.relu(x)
