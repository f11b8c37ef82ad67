# A graph of the first inputs, replayed for all.
# expect: rejected stream
# guard: cuda_graph
# allowed: wrong_answer value
# row: 17
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.y = torch.relu(x)
        self.graph.replay()
        return self.y
