"""Generates the inputs of a problem, anew for each call, and on the device where the problem's code allows that. This
module runs in a reference child.

A problem that seeds generators in get_inputs() would return the same inputs for every call, so that a submission could
reuse its outputs. Seeding is therefore ignored while inputs are drawn; the judge's seed is already in every generator.
A generator that the problem makes itself is not affected; the judge detects equal inputs.
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
    return torch.default_generator  # what torch.manual_seed() returns


class InputGenerator:
    """The inputs of one problem. The first draw decides on which device inputs are drawn."""

    def __init__(self, get_inputs: Callable[[], Any], device: torch.device) -> None:
        self.get_inputs, self.device = get_inputs, device

    def first_inputs(self, seed: Callable[[], None]) -> Any:
        """Draws inputs on the device, or on the host if that fails, as it does for code that mixes in numpy arrays or a
        generator of the host. `seed` is called before each attempt.
        """
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
