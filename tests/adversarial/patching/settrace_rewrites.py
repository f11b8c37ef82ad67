# Watches every line of ours and rewrites what it finds.
# expect: rejected policy
# guard: rewrites_caller
# run: harmless | runtime_error | rejected tamper
import sys

import torch
import torch.nn as nn

def watch(frame, event, arg):
    page = getattr(frame.f_locals.get('self'), 'page', None)
    if page is not None and hasattr(page, 'event_ns'):
        page.event_ns = 1
        page.failure = 0
    return watch


class ModelNew(nn.Module):
    def forward(self, x):
        sys.settrace(watch)
        return torch.relu(x)
