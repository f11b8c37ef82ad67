# A graph that runs for the first input only; later calls hand out what it left.
# expect: rejected stream
# guard: cuda_graph
# allowed: wrong_answer value
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.y = None

    def forward(self, x):
        if self.y is None:
            held = x.clone()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.y = torch.relu(held)
            graph.replay()
        return self.y.clone()
