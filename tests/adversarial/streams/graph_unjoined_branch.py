# A capture with a branch that is never joined.
# expect: rejected stream
# guard: cuda_graph
# allowed: runtime_error | gpu_fault
# row: 16
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        graph = torch.cuda.CUDAGraph()
        side = torch.cuda.Stream()
        with torch.cuda.graph(graph):
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                y = torch.relu(x)
        graph.replay()
        return y
