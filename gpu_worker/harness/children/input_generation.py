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

from harness.children.failures import Failure, classify

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
def seeds_passed_over() -> Iterator[None]:
    kept = [(owner, name, getattr(owner, name)) for owner, name in SEEDERS]
    try:
        for owner, name, _ in kept:
            setattr(owner, name, _pass_over)
        yield
    finally:
        for owner, name, seeder in kept:
            setattr(owner, name, seeder)


def _pass_over(*_: Any, **__: Any) -> torch.Generator:
    return torch.default_generator  # as torch.manual_seed() returns it


class Drawing:
    """Of one problem. Where it draws is settled by the first draw."""

    def __init__(self, get_inputs: Callable[[], Any], device: torch.device) -> None:
        self.get_inputs, self.place = get_inputs, device

    def first(self, seed: Callable[[], None]) -> Any:
        """Draws where the problem can: code that mixes in numpy's arrays or a generator of the host draws there. `seed` comes before each try."""
        seed()
        try:
            return self.again()
        except Exception as error:
            is_memory = classify(error, Failure.NONE, True) is Failure.OUT_OF_GPU_MEMORY
            if self.place.type == "cpu" or is_memory:
                raise
        self.place = torch.device("cpu")
        seed()
        return self.again()

    def again(self) -> Any:
        with torch.device(self.place), seeds_passed_over():
            return self.get_inputs()
