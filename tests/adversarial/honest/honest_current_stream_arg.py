# The current stream's handle, handed to a launch.
# expect: passed
# guard: clean
# row: H4
# matrix: honest: current_stream handle to launch
import torch
import torch.nn as nn

def launch(grid, block, out, x, stream):
    assert isinstance(stream, int)
    torch.clamp(x, min=0, out=out)


class ModelNew(nn.Module):
    def forward(self, x):
        stream = torch.cuda.current_stream()
        out = torch.empty_like(x)
        launch((16,), (256,), out, x, stream=stream.cuda_stream)
        return out
