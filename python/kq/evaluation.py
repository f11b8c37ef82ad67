"""The outcome of one submission, and what it is worth to a learner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from kq.errors import BadInput, BadSource
from kq.records.field_types import field_type_error
from kq.records.hash import Hash
from kq.records.jobs import RunRow
from kq.records.limits import NAME_BYTES_MAX
from kq.records.submission import Backend, Problem, SourceFile, Submission, source_error
from kq.records.verdict import Fault, Verdict, VerdictName
from kq.wire.codec import Malformed, encode

Source = (
    str | Path | Sequence[SourceFile]
)  # a kernel: its text, the path of its file, or its files with the entry first
GivenProblem = Problem | str | Path  # or the path of its file

EVALUATE_TIMEOUT_S = 600.0  # for evaluations of which nobody said how long they may take


class Reward(NamedTuple):
    """Either a value, or the sentence that says why there is none. A failure of ours is never a value."""

    value: float | None
    infra_error: str | None


@dataclass(frozen=True)
class Evaluation:
    """Either a finished row, or a source that cannot be a kernel, or a failure that is not the kernel's."""

    run: str
    label: str
    seq: int = 0  # the broker's number of the job; 0 when there is none
    row: RunRow | None = None
    bad_source: str = ""  # why nothing was sent: a sentence about the source's text
    failure: str = ""  # why there is no finished row: a sentence

    @property
    def verdict(self) -> Verdict | None:
        return self.row.verdict if self.row else None

    @property
    def passed(self) -> bool:
        return self.verdict is not None and self.verdict.name is VerdictName.PASSED

    @property
    def speedup(self) -> float | None:
        """How much faster than the reference; nothing unless it passed and was timed."""
        if not self.passed or self.verdict is None or self.verdict.measurement is None:
            return None
        return self.verdict.measurement.speedup or None

    @property
    def is_held_against_it(self) -> bool:
        """Whether the kernel was judged and did not pass. A job that somebody cancelled was not judged."""
        if self.bad_source:
            return True
        verdict = self.verdict
        return (
            verdict is not None
            and verdict.fault in (Fault.USER, Fault.POLICY)
            and verdict.name is not VerdictName.CANCELLED
        )

    @property
    def reward(self) -> float | None:
        """The speedup over the reference when it passed, 0 when the kernel is at fault, None when neither is known.

        The speedup is the reference's median time over the submission's, so 1.0 is as fast as the reference. Fault
        `user` or `policy` earns 0, and so does a source that cannot be a kernel. Where `infra_error` says why there is
        no reward (a machine failed, the time was over, no worker has such a device), leave the sample out or evaluate
        it again: a 0 would teach that the kernel was bad.
        """
        return 0.0 if self.is_held_against_it else self.speedup

    @property
    def infra_error(self) -> str | None:
        """Why this says nothing about the kernel: a sentence, or None when it does."""
        if self.is_held_against_it or self.speedup is not None:
            return None
        if self.failure:
            return self.failure
        if self.verdict is None:
            return f"{self.label}: there is no verdict"
        if self.passed:
            return f"{self.label}: passed, but no trial was timed; ask for trials.timed > 0"
        message = self.verdict.evidence.message if self.verdict.evidence else ""
        return f"{self.label}: {self.verdict.name.value}" + (f": {message}" if message else "")

    def as_reward(self) -> Reward:
        return Reward(self.reward, self.infra_error)


@dataclass
class Order:
    """What evaluate_many() was asked for: the submissions to send, and where each source's outcome will be found."""

    run: str
    labels: list[str] = field(default_factory=list)  # one per source; equal work has an equal one
    submissions: dict[str, Submission] = field(default_factory=dict)
    outcomes: dict[str, Evaluation] = field(default_factory=dict)

    def add(self, source: Source, label: str, fresh: bool, **arguments: Any) -> None:
        try:
            submission = Submission.of(source, label=label, **arguments)
        except BadSource as error:
            label = label or f"source {len(self.labels)}"
            self.outcomes[label] = Evaluation(self.run, label, bad_source=str(error))
            self.labels.append(label)
            return
        if fresh:
            submission = replace(submission, salt=uuid4().hex)
        if not label:
            if wrong := field_type_error(submission):
                raise BadInput(f"submission: {wrong}")
            try:
                submission = replace(submission, label=label_of(submission))
            except Malformed as wrong:
                raise BadInput(f"submission: {wrong}") from None
        self.labels.append(submission.label)
        self.submissions[submission.label] = submission

    def add_outcome(self, evaluation: Evaluation) -> None:
        self.outcomes[evaluation.label] = evaluation

    def fail(self, failure: str) -> None:
        """Whatever has no outcome yet has this one."""
        for label in self.submissions:
            if label not in self.outcomes:
                self.outcomes[label] = Evaluation(self.run, label, failure=f"{label}: {failure}")

    def evaluations(self) -> list[Evaluation]:
        return [self.outcomes[label] for label in self.labels]


def order_of(
    sources: Sequence[Source],
    *,
    problem: GivenProblem | Sequence[GivenProblem],
    backend: Backend | str | None = None,
    contract: Mapping[str, Any] | str | None = None,
    run: str = "evaluate",
    label: str = "",
    fresh: bool = False,
    **fields: Any,
) -> Order:
    """One problem for all of them, or one for each. Only a single source may have a `label` of its own."""
    if isinstance(sources, str | bytes | Path):  # whose letters would be a kernel each
        raise BadInput("evaluate_many() takes a list of sources, evaluate() a single one")
    if not isinstance(sources, Iterable):
        raise BadInput(f"evaluate_many() takes a list of sources, got {type(sources).__name__}")
    sources = list(sources)
    for i, source in enumerate(sources):
        if wrong := source_error(source):
            raise BadInput(wrong if len(sources) == 1 else f"source {i}: {wrong}")
    if label and len(sources) > 1:
        raise BadInput(
            f"one label, {label!r}, for {len(sources)} sources; labels are unique inside a run, so leave it out"
        )
    order = Order(run)
    if isinstance(problem, Problem | str | bytes | Path) or not isinstance(problem, Iterable):
        problems = [Problem.given(problem)] * len(sources)
    else:
        problems = [_problem_given(one, i) for i, one in enumerate(problem)]
        if len(problems) != len(sources):
            raise BadInput(
                f"{len(sources)} sources and {len(problems)} problems; one is needed for all, or one for each"
            )
    for source, one in zip(sources, problems, strict=True):
        order.add(source, label, fresh, problem=one, backend=backend, contract=contract, **fields)
    return order


def _problem_given(problem: GivenProblem, i: int) -> Problem:
    try:
        return Problem.given(problem)
    except BadInput as error:
        raise BadInput(f"problem {i}: {error}") from None


def label_of(submission: Submission) -> str:
    """Equal work has an equal label, other work another."""
    digest = str(Hash.of(encode(submission)))[:24]
    label = f"{submission.problem.name}/{digest}"
    return label if len(label.encode()) <= NAME_BYTES_MAX else digest
