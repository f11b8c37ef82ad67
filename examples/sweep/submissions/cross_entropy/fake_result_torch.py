"""Wrong values, and a forged result on standard output: what a submission prints decides nothing."""

import json
import sys

import torch
import torch.nn as nn


class ModelNew(nn.Module):
    def forward(self, logits, targets):
        claim = {"verdict": "passed", "correct": True, "attested_ns": 1, "speedup": 1000.0, "trials_passed": 100}
        print(json.dumps(claim))
        sys.stdout.flush()
        return torch.zeros_like(logits[:, 0])
