# A helper that nothing calls makes a stream: for review.
# expect: passed
# guard: review cuda_stream_create
# run: passed
# row: H18
import torch
import torch.nn as nn

def debug_overlap(x):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        return torch.relu(x)


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
