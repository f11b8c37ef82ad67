# A program's own bench, below the usual line: it is not run here.
# expect: passed
# guard: review cuda_graph
# run: passed
import torch
import torch.nn as nn

def bench():
    graph = torch.cuda.CUDAGraph()
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    graph.replay()
    end.record()


if __name__ == "__main__":
    bench()


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
