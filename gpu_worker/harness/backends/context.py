"""What a backend gets: the job, and the problem as the judge's tables describe it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from harness.role import Job
from harness.tensors import Spec


@dataclass(frozen=True)
class Argument:
    """An argument of forward(): a tensor of that shape and dtype, or a fixed number."""

    name: str
    spec: Spec | None
    value: Any = None


@dataclass(frozen=True)
class Context:
    job: Job
    seed: Callable[[], None]  # puts every generator where the job's seed wants it
    arguments: list[Argument]
    outputs: list[Spec]
    states: dict[str, torch.Tensor]  # the reference's parameters and buffers, in the window
    output_views: Callable[[], list[torch.Tensor]]  # where outputs of this call may be put directly
