"""The submission child: runs one submission on inputs in the judge's window. The judge believes what the child reports
only if it is against the submission.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import torch

from harness.backends import BACKENDS
from harness.backends.context import Call, Context
from harness.children.argument_binding import ProblemSignature
from harness.children.command_handler import CommandHandler
from harness.children.failures import Failed
from harness.children.job import Job
from harness.children.model_file import Problem
from harness.children.page import Failure, TensorDesc
from harness.children.tensors import TensorSpec, seed_everything, value_of
from harness.extensions import loader
from harness.kernels import kernel_calls, triton_precompile
from harness.kernels.kernel_calls import KernelCalls
from harness.problem.forbidden_calls import ForbiddenCalls


class Submission(CommandHandler):
    model: Call | None = None
    kernel_calls: KernelCalls
    watched_calls = 0  # how many of the next calls tell whether they run the submission's kernels
    forbidden_calls: ForbiddenCalls | None = None  # of a problem that forbids something

    @staticmethod
    def prepare(job: Job) -> None:
        if job.on_gpu:
            triton_precompile.unpack_common()
        kernel_calls.note_harness_modules()

    def load(self) -> None:
        backend = BACKENDS.get(self.job.backend)
        if backend is None:
            raise Failed(Failure.LOAD_FAILED, f"unknown backend '{self.job.backend}'; known are {', '.join(BACKENDS)}")
        if self.job.on_gpu:
            triton_precompile.unpack_job_cache(self.job)
        self.read_trees()
        if self.page.has_forbidden:
            self.prepare_inspection()
        context = self.context()
        try:
            self.model = backend(context)
        finally:
            loader.check_refusals()
        self._note = "; ".join(context.notes)
        self.kernel_calls = KernelCalls(self.job.source, loader.loaded())
        self.watched_calls = KernelCalls.CALLS
        self.synchronize()

    def context(self) -> Context:
        seed = self.page.seed
        states = {name_of(entry): self.view(entry) for entry in self.entries("states")}
        names = [name_of(entry) for entry in self.entries("inputs")]
        values = [TensorSpec.of(entry) if entry.dtype else value_of(entry) for entry in self.entries("inputs")]
        if self.arguments is not None:
            names, values = self.arguments.names, self.arguments.build(values)
        signature = ProblemSignature(
            dict(zip(names, values)),
            [TensorSpec.of(entry) for entry in self.entries("outputs")],
            states,
            self.job.device,
        )
        return Context(
            job=self.job,
            seed=lambda: seed_everything(seed),
            states=states,
            signature=signature,
            workload=self.page.workload,
        )

    def call(self) -> None:
        if self.model is None:
            raise Failed(Failure.RUNTIME_ERROR, "nothing is loaded yet")
        inputs = self.input_views()
        model = self.model if self.watched_calls == 0 else self.watched_model
        with torch.no_grad():
            try:
                # A timed call runs the same code as a call of the reference: the time of this code is in both times.
                if self.page.is_watched:
                    with self.what_runs():
                        outputs = self.tensors_of(model(*inputs))  # a name for the result would keep the outputs
                else:
                    outputs = self.tensors_of(model(*inputs))
            finally:
                loader.check_refusals()
            self.put_outputs(outputs)

    @contextlib.contextmanager
    def what_runs(self) -> Iterator[None]:
        """Finds out what a watched call runs: the kernels, by CUPTI, and the forbidden operators. Such a call is
        checked like any other, and never timed.
        """
        with contextlib.ExitStack() as stack:
            if self.job.audit:
                self._runtime.audit_begin_watch()
                stack.callback(self._runtime.audit_end_watch)
            if self.forbidden_calls is not None:
                stack.enter_context(self.forbidden_calls.operators_noted())
            yield

    def watched_model(self, *inputs: Any) -> Any:
        self.watched_calls -= 1
        with self.kernel_calls.watched():
            result = self.model(*inputs) if self.model is not None else None
        self._note = self.kernel_calls.words()
        return result

    def prepare_inspection(self) -> None:
        """Reads what the problem forbids. Runs before any code of the submission."""
        forbidden = Problem(self.job.source / self.job.problem, self.page.workload).forbidden
        if forbidden is not None:
            self.forbidden_calls = ForbiddenCalls(forbidden, self.job.source)
            self.forbidden_calls.look_at_libraries(self.job.given)

    def inspect(self) -> None:
        """Answers with what the submission uses of what the problem forbids."""
        if self.model is None or self.forbidden_calls is None:
            raise Failed(Failure.RUNTIME_ERROR, "nothing that forbids anything is loaded yet")
        model, seed = self.model, self.page.seed
        inputs = [self.input_views() for _ in range(ForbiddenCalls.CALLS)]  # whose making is not watched

        def call() -> None:
            seed_everything(seed)
            model(*inputs.pop())

        with torch.no_grad():
            self.forbidden_calls.watch(call)
        self._note = self.forbidden_calls.sentence()


def name_of(entry: TensorDesc) -> str:
    return bytes(entry.name).decode(errors="replace")
