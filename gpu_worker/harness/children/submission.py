"""The submission child: runs one submission on inputs in the judge's window. What it says is believed only against itself."""

import torch

from harness.backends import BACKENDS
from harness.backends.context import Call, Context
from harness.children.argument_binding import Forms
from harness.children.command_handler import Role
from harness.children.failures import Failed
from harness.children.job import Job
from harness.children.page import Failure, TensorDesc
from harness.children.tensors import Spec, outputs_of, seed_everything, value_of
from harness.kernels import triton_precompile


class Submission(Role):
    model: Call | None = None

    @staticmethod
    def prepare(job: Job) -> None:
        if job.on_gpu:
            triton_precompile.fill_common()

    def load(self) -> None:
        backend = BACKENDS.get(self.job.backend)
        if backend is None:
            raise Failed(Failure.LOAD_FAILED, f"unknown backend '{self.job.backend}'; known are {', '.join(BACKENDS)}")
        if self.job.on_gpu:
            triton_precompile.fill(self.job)
        self.model = backend(self.context())
        self.synchronize()

    def context(self) -> Context:
        seed = self.page.seed
        states = {name_of(entry): self.view(entry) for entry in self.entries("states")}
        inputs = {
            name_of(entry): Spec.of(entry) if entry.dtype else value_of(entry) for entry in self.entries("inputs")
        }
        forms = Forms(inputs, [Spec.of(entry) for entry in self.entries("outputs")], states, self.job.device)
        return Context(job=self.job, seed=lambda: seed_everything(seed), states=states, forms=forms)

    def call(self) -> None:
        if self.model is None:
            raise Failed(Failure.RUNTIME_ERROR, "nothing is loaded yet")
        inputs = self.input_views()
        with torch.no_grad():
            self.put_outputs(outputs_of(self.model(*inputs)))


def name_of(entry: TensorDesc) -> str:
    return entry.name.decode(errors="replace")
