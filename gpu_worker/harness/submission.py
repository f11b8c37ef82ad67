"""The submission child: runs one submission on inputs in the judge's window. What it says is believed only against itself."""

import torch

from harness.backends import BACKENDS, Call
from harness.backends.context import Context
from harness.failures import Failed
from harness.page import Failure
from harness.role import Role
from harness.tensors import outputs_of, seed_everything


class Submission(Role):
    model: Call | None = None

    def load(self) -> None:
        backend = BACKENDS.get(self.job.backend)
        if backend is None:
            raise Failed(Failure.LOAD_FAILED, f"unknown backend '{self.job.backend}'; known are {', '.join(BACKENDS)}")
        self.model = backend(self.context())
        self.synchronize()

    def context(self) -> Context:
        seed = self.page.seed
        states = {entry.name.decode(errors="replace"): self.view(entry) for entry in self.entries("states")}
        return Context(job=self.job, seed=lambda: seed_everything(seed), states=states)

    def call(self) -> None:
        if self.model is None:
            raise Failed(Failure.RUNTIME_ERROR, "nothing is loaded yet")
        inputs = self.input_views()
        with torch.no_grad():
            self.put_outputs(outputs_of(self.model(*inputs)))
