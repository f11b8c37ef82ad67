# Writes until there is no room.
# expect: runtime_error
# guard: clean
# run: runtime_error
# row: 66
# long
import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, x):
        with open('/kq/work/big', 'wb', buffering=0) as file:
            while True:
                file.write(bytes(16 << 20))
