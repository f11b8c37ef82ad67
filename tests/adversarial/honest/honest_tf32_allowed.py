# Settings of torch.
# expect: passed
# guard: clean
# run: passed
# row: H33
import torch
import torch.nn as nn

torch.backends.cuda.matmul.allow_tf32 = True
torch.backends.cudnn.benchmark = True
torch.set_float32_matmul_precision("high")
torch._dynamo.config.suppress_errors = True


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
