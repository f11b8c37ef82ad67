# Keeps its output, writes only what is another, and has the harness believe that nobody keeps anything.
# expect: wrong_answer nan | wrong_answer value
# guard: review probes_harness
# run: wrong_answer nan | harmless
# gpu: wrong_answer nan
import harness.children.command_handler
import torch
import torch.nn as nn

harness.children.command_handler.held_elsewhere = lambda tensors: [False] * len(tensors)


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.y = None

    def forward(self, x):
        if self.y is None:
            self.y = torch.zeros_like(x)
        else:
            self.y[self.positive] = 0
        self.positive = x > 0
        self.y[self.positive] = x[self.positive]
        return self.y
