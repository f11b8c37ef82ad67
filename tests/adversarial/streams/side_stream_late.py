# The work is done late, on a stream that the current stream does not wait for. The timed interval ends when the whole
# device is idle, so it has such work; a watched call rejects it only while it still runs.
# expect: rejected stream
# guard: cuda_stream_create
# allowed: passed | rejected stream | wrong_answer value
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.side = torch.cuda.Stream()

    def forward(self, x):
        y = torch.empty_like(x)
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            torch.cuda._sleep(1_000_000)
            y.copy_(torch.relu(x))
        return y
