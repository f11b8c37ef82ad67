# A C++ source that is put together from constants.
# expect: rejected stream
# guard: cuda_stream_create
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

HEAD = "#include <torch/extension.h>\n"
MAKE = "cudaSt" + "ream"
BODY = HEAD + "void run() { %sCreate(&side); }" % MAKE
module = load_inline(name="m", cpp_sources="void run();", cuda_sources=[BODY], functions=["run"])


class ModelNew(nn.Module):
    def forward(self, x):
        return torch.relu(x)
