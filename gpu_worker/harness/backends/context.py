"""What a backend's load() receives: the job, the state of the reference, and the signature of the problem."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from harness.children.argument_binding import ProblemSignature
from harness.children.job import Job

# A call returns what a model returns: a tensor, or a tuple or list of tensors and numbers.
Call = Callable[..., Any]


@dataclass(frozen=True)
class Context:
    job: Job
    seed: Callable[[], None]  # seeds every generator with the job's seed
    states: dict[str, torch.Tensor]  # the reference's parameters and buffers, as views into the window
    signature: ProblemSignature
    workload: int = 0  # the index of the problem's workload
    notes: list[str] = field(default_factory=list)  # what the backend tells the judge, for the evidence of a failure
