"""What a backend gets: the job, what it may start from, and what it will be called with."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from harness.children.argument_binding import ProblemSignature
from harness.children.job import Job

# What a call returns is what a model returns: a tensor, or a tuple or list of tensors and numbers.
Call = Callable[..., Any]


@dataclass(frozen=True)
class Context:
    job: Job
    seed: Callable[[], None]  # puts every generator where the job's seed wants it
    states: dict[str, torch.Tensor]  # the reference's parameters and buffers, in the window
    signature: ProblemSignature
