# A callable with a graph inside.
# expect: rejected stream
# guard: cuda_graph
# matrix: hostile: graph capture begin/end
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.relu = None

    def forward(self, x):
        if self.relu is None:
            self.relu = torch.cuda.make_graphed_callables(torch.relu, (x,))
        return self.relu(x)
