"""What a backend gets: the job, and what it may start from."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from harness.role import Job


@dataclass(frozen=True)
class Context:
    job: Job
    seed: Callable[[], None]  # puts every generator where the job's seed wants it
    states: dict[str, torch.Tensor]  # the reference's parameters and buffers, in the window
