# A graph on a second stream, launched at the end of each call, that waits and then reads the next call's input.
# expect: rejected stream
# guard: cuda_graph
# allowed: rejected stream | wrong_answer value
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()
        self.graph = None

    def forward(self, x):
        if self.graph is None:
            self.x = x
            self.ahead = torch.relu(x)
            self.graph = torch.cuda.CUDAGraph()
            torch.cuda.synchronize()
            with torch.cuda.graph(self.graph, stream=self.side):
                torch.cuda._sleep(2_000_000)
                self.ahead.copy_(torch.relu(self.x))
        y = self.ahead.clone()
        with torch.cuda.stream(self.side):
            self.graph.replay()
        return y
