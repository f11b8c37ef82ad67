"""How a problem's inputs are drawn: anew for each call, and on the device where the problem's code allows that.

A problem that seeds itself in get_inputs() would give the same inputs to every call, and who has seen them once need not compute: what it asks of a seed is passed
over while it draws, as the judge has seeded every generator. A generator of the problem's own is not; the judge sees that its inputs are the same.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy
import torch

from harness.children.failures import classify
from harness.children.page import Failure

SEEDERS: tuple[tuple[Any, str], ...] = (
    (torch, "manual_seed"),
    (torch.random, "manual_seed"),
    (torch.cuda, "manual_seed"),
    (torch.cuda, "manual_seed_all"),
    (torch.cuda.random, "manual_seed"),
    (torch.cuda.random, "manual_seed_all"),
    (random, "seed"),
    (numpy.random, "seed"),
)


@contextmanager
def reseeding_ignored() -> Iterator[None]:
    kept = [(owner, name, getattr(owner, name)) for owner, name in SEEDERS]
    try:
        for owner, name, _ in kept:
            setattr(owner, name, _ignore_seed)
        yield
    finally:
        for owner, name, seeder in kept:
            setattr(owner, name, seeder)


def _ignore_seed(*_: Any, **__: Any) -> torch.Generator:
    return torch.default_generator  # as torch.manual_seed() returns it


class InputGenerator:
    """Of one problem. Where it draws is settled by the first draw."""

    def __init__(self, get_inputs: Callable[[], Any], device: torch.device) -> None:
        self.get_inputs, self.device = get_inputs, device

    def first_inputs(self, seed: Callable[[], None]) -> Any:
        """Draws where the problem can: code that mixes in numpy's arrays or a generator of the host draws there. `seed` comes before each try."""
        seed()
        try:
            return self.next_inputs()
        except Exception as error:
            is_memory = classify(error, Failure.NONE, True) is Failure.OUT_OF_GPU_MEMORY
            if self.device.type == "cpu" or is_memory:
                raise
        self.device = torch.device("cpu")
        seed()
        return self.next_inputs()

    def next_inputs(self) -> Any:
        with torch.device(self.device), reseeding_ignored():
            return self.get_inputs()
